// Costs of lines of source, in a library with known costs.
#include "tests/e2e/quick_library.h"

namespace instr::e2e::lines_test {
namespace {

constexpr const char* kNops = R"(#include "nops.h"
void hundred() {
  __asm__ volatile(".rept 100\nnop\n.endr");
}
void both() {
  __asm__ volatile(".rept 40\nnop\n.endr");
  hundred();
  hundred();
  __asm__ volatile(".rept 2\nnop\n.endr");
}
)";

constexpr const char* kNopsDefinitions = R"(schema = 1
global_setup = '#include "nops.h"'

[build]
include_dirs = ["."]
sources = ["nops.cpp"]

[[benchmark]]
label = "nops"
stmt = """
inlined();
both();
"""
)";

constexpr const char* kKey = "nops/eager/forward/t1/cpu";

class Lines : public ::testing::Test {
 protected:
  void SetUp() override {
    write(file("nops.h"),
          "__attribute__((noinline)) void hundred();\nvoid both();\n"
          "inline void inlined() { __asm__ volatile(\".rept 30\\nnop\\n.endr\"); }\n");
    write(file("nops.cpp"), kNops);
    write(file("nops.toml"), kNopsDefinitions);
  }

  fs::path file(const std::string& name) const { return folder_.path() / name; }

  CommandResult run(std::vector<std::string> arguments) {
    CommandResult result = run_in(folder_.path(), std::move(arguments));
    EXPECT_LE(result.exit_code, 3) << result.errors;
    return result;
  }

  nlohmann::json json_of(std::vector<std::string> arguments) {
    arguments.emplace_back("--format=json");
    const CommandResult result = run(std::move(arguments));
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 3) << result.errors;
    return nlohmann::json::parse(result.output);
  }

  TemporaryFolder folder_;
};

nlohmann::json line_of(const nlohmann::json& lines, const std::string& name, int number) {
  for (const auto& one : lines) {
    if (one["file"] == name && one["line"] == number) return one;
  }
  ADD_FAILURE() << "no line " << number << " of " << name << ":\n" << lines.dump(1);
  return {{"self", -1}, {"inclusive", -1}, {"text", ""}};
}

TEST_F(Lines, HaveTheirExactCosts) {
  const auto plain = json_of({"explain", kKey, "--definitions=nops.toml"});
  const auto by_line =
      json_of({"explain", kKey, "--definitions=nops.toml", "--lines", "--flame=flames"});
  EXPECT_EQ(by_line["instructions"], plain["instructions"]);
  const auto& lines = by_line["lines"];
  EXPECT_HAS(text_of(file("flames/nops.eager.forward.t1.cpu.html")), R"("place":"nops.cpp:5")");
  // The return is not on that line.
  EXPECT_EQ(line_of(lines, "nops.cpp", 3)["self"], 200);
  EXPECT_EQ(line_of(lines, "nops.cpp", 3)["text"],
            "__asm__ volatile(\".rept 100\\nnop\\n.endr\");");
  EXPECT_EQ(line_of(lines, "nops.cpp", 6)["self"], 40);
  EXPECT_EQ(line_of(lines, "nops.cpp", 9)["self"], 2);
  EXPECT_EQ(line_of(lines, "nops.h", 3)["self"], 30);
  const auto calls = line_of(lines, "nops.cpp", 7);
  EXPECT_EQ(calls["inclusive"].get<double>() - calls["self"].get<double>(), 101);  // and ret
  const auto statement = line_of(lines, "nops.toml", 12);
  EXPECT_EQ(statement["text"], "both();");
  EXPECT_GE(statement["inclusive"].get<double>(), 242);
  EXPECT_LE(statement["inclusive"].get<double>(), plain["instructions"].get<double>());
}

// The lines of a compiled snippet in the cache have moved.
TEST_F(Lines, OfADefinitionAreAtTheirNewPlace) {
  json_of({"explain", kKey, "--definitions=nops.toml", "--lines"});
  write(file("nops.toml"),
        replaced(kNopsDefinitions, "[[benchmark]]", "# Twice.\n\n[[benchmark]]"));
  const auto moved = json_of({"explain", kKey, "--definitions=nops.toml", "--lines"});
  EXPECT_EQ(line_of(moved["lines"], "nops.toml", 14)["text"], "both();");
}

TEST_F(Lines, ThatChangedAreShownSideBySide) {
  auto before = expect_status(0, run({"--definitions=nops.toml", "--lines", "--save=main"}));
  write(file("nops.cpp"), replaced(replaced(kNops, "void both", "// Calls it twice.\nvoid both"),
                                   ".rept 40", ".rept 90"));
  EXPECT_HAS(expect_status(3, run({"--definitions=nops.toml", "--lines", "--baseline=main",
                                   "--output=b.jsonl"}))
                 .output,
             "nops.cpp:7  + __asm__ volatile(\".rept 90");

  const auto rows = json_of({"compare", "main", "b.jsonl", "--lines"})["rows"];
  ASSERT_EQ(rows.size(), 1U);
  const auto& lines = rows[0]["lines"];
  EXPECT_EQ(lines["elsewhere"], 0);
  ASSERT_EQ(lines["changes"].size(), 2U) << lines.dump(1);
  EXPECT_EQ(lines["changes"][0]["before"]["self"], 40);
  EXPECT_TRUE(lines["changes"][0]["after"].is_null());
  EXPECT_EQ(lines["changes"][1]["after"]["self"], 90);
  EXPECT_EQ(lines["changes"][1]["after"]["line"], 7);
  double sum = 0;
  for (const auto& one : lines["changes"]) sum += one["change"].get<double>();
  EXPECT_EQ(sum, rows[0]["metrics"]["instructions"]["change"].get<double>());

  auto kept = run({"explain", kKey, "main", "--lines"});
  EXPECT_HAS(kept.output, "nops.cpp:3") << kept.errors;

  // Results without lines.
  auto plain = expect_status(0, run({"--definitions=nops.toml", "--output=plain.jsonl"}));
  expect_refused(run({"compare", "plain.jsonl", "b.jsonl", "--lines"}),
                 "plain.jsonl: these results have no costs of lines");
  expect_status(
      0, run({"compare", "plain.jsonl", "b.jsonl", "--limit=instructions=+0"}));  // counted alike
}

}  // namespace
}  // namespace instr::e2e::lines_test
