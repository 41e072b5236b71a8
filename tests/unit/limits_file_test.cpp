#include "core/compare/limits_file.h"

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

}  // namespace
}  // namespace instr::limits_file_test
