#include "core/compare/limits_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "core/definitions/limit.h"
#include "core/definitions/metrics.h"
#include "core/results/simulation.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::limits_file_test {
namespace {

using namespace testing;

constexpr Limit kNone{};
Limit percent(double value) { return {value, std::nullopt}; }
Limit units(double value) { return {std::nullopt, value}; }

LimitsFile parsed(const std::string& text) {
  return value_of(parse_limits_file(SourceText("l.toml", text)));
}

std::string errors(const std::string& text) {
  const auto file = parse_limits_file(SourceText("l.toml", text));
  return file ? "" : error_lines(file.error());
}

TEST(LimitsFile, ReadsHardAndSoftLimitsOfPatterns) {
  const LimitsFile file = parsed(R"(
# The products may be wider.
[[limit]]
keys = "^matmul/"
hard = { instructions = "1%|+200", allocs = "+0" }

[[limit]]
keys = ["/t2/", '\bnn/']
hard = { instructions = "none", alloc_bytes = "0%", peak_bytes = "+64" }
[limit.soft]
instructions = "0.2%"
)");
  ASSERT_EQ(file.size(), 2u);
  ASSERT_EQ(file[0].keys.size(), 1u);
  EXPECT_EQ(file[0].keys[0].code, "^matmul/");
  EXPECT_EQ(file[0].keys[0].where, (SourceLocation{"l.toml", 4, 9}));
  EXPECT_EQ(file[0].limits.hard,
            (std::map<std::string, Limit>{{"instructions", {1, 200}}, {"allocs", units(0)}}));
  EXPECT_TRUE(file[0].limits.soft.empty());
  ASSERT_EQ(file[1].keys.size(), 2u);
  EXPECT_EQ(file[1].keys[1].code, R"(\bnn/)");
  EXPECT_EQ(file[1].limits.hard,
            (std::map<std::string, Limit>{
                {"instructions", kNone}, {"alloc_bytes", percent(0)}, {"peak_bytes", units(64)}}));
  EXPECT_EQ(file[1].limits.soft, (std::map<std::string, Limit>{{"instructions", percent(0.2)}}));
}

TEST(LimitsFile, TheLastLimitOfAMetricCounts) {
  const LimitsFile file = parsed(R"(
[[limit]]
keys = ""
hard = { instructions = "1%", allocs = "+0" }
soft = { instructions = "0.5%" }
[[limit]]
keys = "^a/"
hard = { instructions = "2%" }
[[limit]]
keys = ["big$", "^a/c"]
hard = { instructions = "none" }
)");
  const ResolvedLimits resolved = resolve_limits(file, {"a/small", "a/big", "c"});
  ASSERT_EQ(resolved.by_key.size(), 3u);
  const auto ir = [&](const std::string& key) {
    return resolved.by_key.at(key).hard.at("instructions");
  };
  EXPECT_EQ(ir("c"), percent(1));
  EXPECT_EQ(ir("a/small"), percent(2));
  EXPECT_EQ(ir("a/big"), kNone);
  for (const auto& [key, limits] : resolved.by_key) {
    EXPECT_EQ(limits.hard.at("allocs"), units(0)) << key;
    EXPECT_EQ(limits.soft.at("instructions"), percent(0.5)) << key;
  }
  EXPECT_EQ(error_lines(resolved.unmatched),
            "l.toml:10:18: no benchmark's key matches `^a/c`: so this limit has no effect: correct "
            "it, or remove it\n");
}

TEST(LimitsFile, KeysWithoutAMatchHaveNoLimits) {
  const ResolvedLimits resolved = resolve_limits(
      parsed("[[limit]]\nkeys = \"^b\"\nhard = { instructions = \"1%\" }\n"), {"a", "b"});
  EXPECT_EQ(resolved.by_key.size(), 1u);
  EXPECT_TRUE(resolved.by_key.contains("b"));
  EXPECT_TRUE(resolved.unmatched.empty());
  const LimitsFile file = parsed("[[limit]]\nkeys = \"^b\"\nhard = { instructions = \"1%\" }\n");
  EXPECT_EQ(error_lines(resolve_limits(file, {"a", "b"}, {"b"}).unmatched),
            "l.toml:2:9: only missing benchmarks match `^b`: so this limit has no effect: correct "
            "it, or remove it\n");
}

TEST(LimitsFile, MatchesHostileKeys) {
  const std::string odd = "a \"b\"|c\n\td/größe/矩阵/\xFF";
  const LimitsFile file = parsed(R"(
[[limit]]
keys = ['"b"\|c\n', "größe/矩"]
hard = { instructions = "+7" }
)");
  const ResolvedLimits resolved = resolve_limits(file, {odd, ""});
  ASSERT_EQ(resolved.by_key.size(), 1u);
  EXPECT_EQ(resolved.by_key.at(odd).hard.at("instructions"), units(7));
  EXPECT_TRUE(resolved.unmatched.empty());
}

TEST(LimitsFile, ReportsAllErrorsWithTheirPlaces) {
  EXPECT_GOLDEN("limits/errors_of_a_limits_file.txt", errors(R"([[limits]]
[[limit]]
kes = "a"
hard = { irr = "1%", ir = "1", allocs = 2 }
[[limit]]
keys = ["a", "b("]
soft = { instructions = "0.5%|none" }
[[limit]]
keys = []
hard = {}
[[limit]]
keys = 5
hard = "instructions=1%"
[[limit]]
keys = "a"
)"));
}

TEST(LimitsFile, RefusesAFileWithoutALimit) {
  for (const char* text : {"", "# nothing yet\n", "limit = []\n"}) {
    EXPECT_EQ(errors(text),
              "l.toml: there is no limit in this file: add a [[limit]]: write for example `keys = "
              "\"^matmul/\"` and `hard = { instructions = \"1%\" }`\n");
  }
  EXPECT_EQ(errors("limit = 1\n"),
            "l.toml:1:9: `limit` must be a list of tables, not an integer: write for example "
            "`[[limit]]`\n");
}

// --- Limits of a command line ---

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

// --- Simulated metrics ---

TEST(Simulation, IsChosenByTheMetrics) {
  EXPECT_FALSE(simulation_for({}).any());
  EXPECT_FALSE(simulation_for({"instructions", "allocs"}).any());
  EXPECT_EQ(simulation_for({"instructions", "estimated_cycles"}), (Simulation{true, false}));
  EXPECT_EQ(simulation_for({"mispredictions"}), (Simulation{false, true}));
  EXPECT_EQ(simulation_for({"branches", "ll_hits"}), (Simulation{true, true}));
}

TEST(Simulation, AddsTheMetricsOfTheEvents) {
  std::map<std::string, double> metrics{{"instructions", 7}};
  add_simulated(metrics, {});
  add_simulated(metrics, {{"Ir", 7}});
  EXPECT_EQ(metrics.size(), 1u);
  add_simulated(metrics, {{"Ir", 7}, {"Bc", 3}, {"Bcm", 1}, {"Bi", 2}, {"Bim", 2}});
  EXPECT_EQ(metrics, (std::map<std::string, double>{
                         {"instructions", 7}, {"branches", 5}, {"mispredictions", 3}}));
}

}  // namespace
}  // namespace instr::limits_file_test
