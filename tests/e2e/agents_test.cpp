// The page for coding agents: its commands run, and print the members that it names.
#include "core/base/text.h"
#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::agents_test {
namespace {

const RunsUnder kNewest("newest", "AgentsInPython.*");

std::string page() { return text_of(fs::path(INSTR_SOURCE_DIR) / "docs/AGENTS.md"); }

class AgentsInPython : public PythonTest {
 protected:
  // Runs the command of the page that contains these words, in the test's folder.
  CommandResult run_from_page(const std::string& words) const {
    std::string found;
    for (const std::string& line : split_lines(page())) {
      if (line.starts_with("    ") && has(line, words)) found = trim(line, " ");
    }
    EXPECT_NE(found, "") << words;
    SpawnOptions options;
    options.argv = {"sh", "-c", found};
    options.environment = environment();
    std::erase_if(*options.environment, [](const auto& each) { return each.starts_with("PATH="); });
    options.environment->push_back("PATH=" + fs::path(program_under_test()).parent_path().string() +
                                   ":" + getenv("PATH"));
    options.working_directory = folder_.path();
    return value_of(run_command(options));
  }
};

TEST_F(AgentsInPython, FindWhatThePageNames) {
  const std::string text = page();
  EXPECT_LE(split_lines(text).size(), 40u);
  EXPECT_EQ(run({"generate", "agents"}).output, text);
  expect_status(0, run_from_page("printf"));
  const auto saved = nlohmann::json::parse(expect_status(0, run_from_page("--save=before")).output);
  const auto& measured = saved.at("measurements").at(0);
  for (const char* member : {"key", "outcome", "metrics", "steady"})
    EXPECT_TRUE(measured.contains(member)) << member;

  const auto explained = nlohmann::json::parse(expect_status(0, run_from_page("explain")).output);
  const auto& function = explained.at("functions").at(0);
  for (const char* member : {"function", "object", "self", "inclusive", "calls", "callers"})
    EXPECT_TRUE(function.contains(member)) << member;

  // The change of the code.
  const fs::path definitions = folder_.path() / "bench.toml";
  std::string slower = text_of(definitions);
  write("bench.toml", slower.replace(slower.find("x + x"), 5, "x + x + x"));
  const auto compared =
      nlohmann::json::parse(expect_status(3, run_from_page("--baseline=before")).output);
  EXPECT_EQ(compared.at("verdict"), "fails");
  const auto& row = compared.at("rows").at(0);
  EXPECT_EQ(row.at("state"), "slower");
  for (const char* member : {"before", "after", "change"})
    EXPECT_TRUE(row.at("metrics").at("instructions").contains(member)) << member;
  for (const char* member : {"calls", "functions"})
    EXPECT_TRUE(row.at("attribution").contains(member)) << member;
}

}  // namespace
}  // namespace instr::e2e::agents_test
