#include "core/definitions/limit.h"

#include <limits>

#include "tests/testing.h"

namespace instr::limit_test {
namespace {

using namespace testing;

TEST(ParseLimit, ReadsPercentagesAndUnits) {
  EXPECT_EQ(parse_limit("0.5%"), (Limit{0.5, std::nullopt}));
  EXPECT_EQ(parse_limit("+0.5%"), (Limit{0.5, std::nullopt}));
  EXPECT_EQ(parse_limit(" 2 % "), (Limit{2, std::nullopt}));
  EXPECT_EQ(parse_limit("+100"), (Limit{std::nullopt, 100}));
  EXPECT_EQ(parse_limit("+0"), (Limit{std::nullopt, 0}));
  EXPECT_EQ(parse_limit("0.5%|+100"), (Limit{0.5, 100}));
  EXPECT_EQ(parse_limit("+1e3 | 1%"), (Limit{1, 1000}));
  EXPECT_EQ(parse_limit("0%"), (Limit{0, std::nullopt}));
}

TEST(ParseLimit, NoneStandsAlone) {
  EXPECT_EQ(parse_limit(" none "), Limit{});
  EXPECT_TRUE(parse_limit("none")->is_none());
  EXPECT_FALSE(parse_limit("0%")->is_none());
  EXPECT_EQ(parse_limit("none|+5").error().what, "`none` is not a limit");
  EXPECT_FALSE(parse_limit("0.5%|none"));
  EXPECT_FALSE(parse_limit("None"));
}

TEST(ParseLimit, RefusesOtherText) {
  for (const char* text :
       {"",     "  ",    "5",        "-5%",      "+-5",  "++5",   "+",      "%",
        "five", "5%%",   "+5 units", "0x5%",     "+inf", "nan%",  "+1e999", "0.5%|",
        "|",    "1%|2%", "+1|+2",    "1%|+2|3%", ".5%",  "1%,+2", "+ 5"}) {
    const auto limit = parse_limit(text);
    ASSERT_FALSE(limit) << text;
    EXPECT_FALSE(limit.error().what.empty()) << text;
    EXPECT_FALSE(limit.error().advice.empty()) << text;
  }
}

TEST(ParseLimits, ReadsMetricsOfACommandLine) {
  using Limits = std::map<std::string, Limit>;
  EXPECT_EQ(parse_limits("instructions=0.5%"), (Limits{{"instructions", {0.5, std::nullopt}}}));
  EXPECT_EQ(parse_limits("instructions=0.5%|+100|allocs=+0"),
            (Limits{{"instructions", {0.5, 100}}, {"allocs", {std::nullopt, 0}}}));
  EXPECT_EQ(parse_limits("instructions=0.5%|instructions=+100"),
            (Limits{{"instructions", {0.5, 100}}}));
  EXPECT_EQ(parse_limits("instructions=0.5%|allocs=+0|instructions=+100"),
            (Limits{{"instructions", {0.5, 100}}, {"allocs", {std::nullopt, 0}}}));
  EXPECT_EQ(parse_limits("instructions=none|allocs=+0"),
            (Limits{{"instructions", {}}, {"allocs", {std::nullopt, 0}}}));
}

TEST(ParseLimits, RefusesUnknownAndMissingMetrics) {
  EXPECT_EQ(parse_limits("allocz=1%").error().advice, "did you mean `allocs`?");
  EXPECT_EQ(parse_limits("1%").error().what, "the limit `1%` names no metric");
  EXPECT_FALSE(parse_limits("instructions=1%|instructions=2%"));
  EXPECT_FALSE(parse_limits("instructions=none|instructions=2%"));
  EXPECT_FALSE(parse_limits("instructions=|2%"));
  EXPECT_FALSE(parse_limits(""));
}

TEST(Allowance, IsTheWiderOfBoth) {
  EXPECT_DOUBLE_EQ(allowance({0.5, std::nullopt}, 1000), 5);
  EXPECT_DOUBLE_EQ(allowance({std::nullopt, 100}, 1000), 100);
  EXPECT_DOUBLE_EQ(allowance({0.5, 100}, 1000), 100);
  EXPECT_DOUBLE_EQ(allowance({0.5, 100}, 1e6), 5000);
  EXPECT_DOUBLE_EQ(allowance({std::nullopt, 0}, 1e6), 0);
  EXPECT_EQ(allowance({}, 0), std::numeric_limits<double>::infinity());
}

TEST(Limit, OfAFileHoldsForBenchmarksThatDoNotSetTheirOwn) {
  const auto definitions = definitions_of(R"(schema = 1
limit = { instructions = "0.5%", allocs = "+0" }
[[benchmark]]
label = "as the file says"
stmt = "f();"
[[benchmark]]
label = "own"
stmt = "f();"
limit = { instructions = "2%" }
)");
  using Limits = std::map<std::string, std::string>;
  EXPECT_EQ(definitions.at(0).limits, (Limits{{"instructions", "0.5%"}, {"allocs", "+0"}}));
  EXPECT_EQ(definitions.at(1).limits, (Limits{{"instructions", "2%"}, {"allocs", "+0"}}));
}

}  // namespace
}  // namespace instr::limit_test
