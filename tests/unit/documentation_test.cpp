// Every link of the documentation leads to a file and, if it names one, to a heading in it.
#include <fmt/format.h>

#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "core/base/read_file.h"
#include "core/compare/judge.h"
#include "core/report/html_page.h"
#include "tests/results_examples.h"
#include "tests/testing.h"

namespace instr::documentation_test {
namespace {

using namespace testing;
namespace fs = std::filesystem;

std::vector<fs::path> pages() {
  std::vector<fs::path> pages;
  for (const char* folder : {"", "docs"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(INSTR_SOURCE_DIR) / folder)) {
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
    }
  }
  return pages;
}

// The lines of a page outside of its examples.
std::vector<std::string> prose(const fs::path& page) {
  std::vector<std::string> lines;
  bool is_example = false;
  std::istringstream text(read_file(page.string(), kMaxTextBytes).value());
  for (std::string line; std::getline(text, line);) {
    const bool is_fence = line.find("```") != std::string::npos;
    if (is_fence) is_example = !is_example;
    if (!is_fence && !is_example) lines.push_back(line);
  }
  return lines;
}

// GitHub's anchor of a heading: "## Use, set-up" -> "use-set-up".
std::string anchor(std::string_view heading) {
  std::string anchor;
  for (const char character : heading.substr(heading.find(' ') + 1)) {
    const auto byte = static_cast<unsigned char>(character);
    if (std::isalnum(byte) || character == '-' || character == '_') {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (character == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> anchors(const fs::path& page) {
  std::set<std::string> anchors;
  for (const std::string& line : prose(page)) {
    if (line.starts_with("#")) anchors.insert(anchor(line));
  }
  return anchors;
}

std::vector<std::string> links(const fs::path& page) {
  const std::string open = "](";
  std::vector<std::string> links;
  for (const std::string& line : prose(page)) {
    for (std::size_t at = line.find(open); at != std::string::npos; at = line.find(open, at)) {
      at += open.size();
      links.push_back(line.substr(at, line.find(')', at) - at));
    }
  }
  return links;
}

TEST(Documentation, LinksLeadToFilesAndHeadings) {
  std::size_t checked = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& link : links(page)) {
      if (link.starts_with("http")) continue;
      ++checked;
      const std::size_t hash = link.find('#');
      const std::string name = link.substr(0, hash);
      const fs::path target = name.empty() ? page : page.parent_path() / name;
      ASSERT_TRUE(fs::exists(target)) << page << ": " << link;
      if (hash == std::string::npos) continue;
      EXPECT_TRUE(anchors(target).contains(link.substr(hash + 1))) << page << ": " << link;
    }
  }
  EXPECT_GT(checked, 100u);
}

// The table of FORMATS.md has each member of a line.
TEST(Documentation, DescribesEveryMemberOfResults) {
  const std::string page =
      read_file((fs::path(INSTR_SOURCE_DIR) / "docs/FORMATS.md").string(), kMaxTextBytes).value();
  TemporaryFolder folder;
  const fs::path file = folder / "results.jsonl";
  write_results(file, example_header(), measurements_of_all_outcomes());
  std::size_t members = 0;
  for (const std::string& line : split_lines(text_of(file))) {
    const auto json = nlohmann::json::parse(line);
    for (const auto& [name, value] : json.items()) {
      ++members;
      EXPECT_TRUE(name == "end" || has(page, "`" + name + "`")) << name;
    }
  }
  EXPECT_GT(members, 50U);
}

// The table of LIMITS.md has the sources of limits in the order in which they win.
TEST(Documentation, HasTheOrderOfLimits) {
  const std::string page =
      read_file((fs::path(INSTR_SOURCE_DIR) / "docs/LIMITS.md").string(), kMaxTextBytes).value();
  std::string table = "| limit | whose |\n|---|---|\n";
  for (const LimitSource& source : kLimitSources) {
    table +=
        fmt::format("| {} | the {} |\n", source.name, source.is_of_base ? "base's" : "command's");
  }
  EXPECT_HAS(page, table + "| the table above | |\n");
}

// Adds the names of all members, also of those inside others.
void add_names(std::set<std::string>& names, const nlohmann::ordered_json& json) {
  if (!json.is_structured()) return;
  for (const auto& [name, value] : json.items()) {
    if (json.is_object()) names.insert(name);
    add_names(names, value);
  }
}

TEST(Documentation, DescribesEveryMemberOfTheReportsData) {
  const std::string page =
      read_file((fs::path(INSTR_SOURCE_DIR) / "docs/FORMATS.md").string(), kMaxTextBytes).value();
  const std::string key = "a/inductor/forward/t1/cpu";
  ReportData data;
  data.columns.push_back({"", "a", "a", 0, 0, "", {{1, std::make_shared<const SeriesSet>()}}});
  data.series.push_back({{0, key, kInstructions, "", 0, true}, {{0, 5}}, {}});
  Attribution move;
  move.parts.emplace_back().function = "f";
  MetricChange change{kInstructions, 4, 5, {}, {}, Verdict::kPasses, Acceptance{}};
  data.series[0].changes.push_back({0, change, false, move});
  data.backends.push_back({key, "", {{0, 1}}, 7});
  data.breaks.push_back({0, 1, {"compiler"}});
  data.outcomes.push_back({{key, "failed", "why"}, 0});
  data.since = ReportSince{"v1", {}};
  const DocumentTable table{.title = "t",
                            .columns = {{"k", "k"}},
                            .rows = {{.cells = {number_cell(1, "1", Tone::kGood)}}}};
  data.experiments = ReportExperiments{
      "1 experiment", table, {table}, table, {{key, "m", "b", 0, Speedup{2, 0, {}}, {}, {table}}}};
  std::set<std::string> names;
  add_names(names, report_json(data));
  for (const std::string& name : names) EXPECT_TRUE(has(page, "`" + name + "`")) << name;
  EXPECT_GT(names.size(), 55U);
}

// --- Examples of definitions ---

std::string page(const std::string& name) {
  return read_file(std::string(INSTR_SOURCE_DIR) + "/docs/" + name, kMaxTextBytes).value();
}

// Returns the text of each ```toml fence.
std::vector<std::string> examples(const std::string& text) {
  const std::string open = "```toml\n";
  std::vector<std::string> result;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const std::size_t end = text.find("```", at);
    result.push_back(text.substr(at, end - at));
  }
  return result;
}

TEST(DefinitionsDocument, HasExamplesThatLoadAndExpand) {
  const std::vector<std::string> all = examples(page("DEFINITIONS.md") + page("SUITES.md"));
  ASSERT_GE(all.size(), 10u);
  for (const std::string& example : all) {
    const TemporaryFolder folder;
    // Files that the examples need.
    folder.write("my_ops.cpp", "");
    folder.write("common.toml", "schema = 1\n[setups.pair]\ncpp = \"torch::Tensor x, w;\"\n");
    EXPECT_EQ(load_errors({folder.write("example.toml", example)}, folder.path()), "") << example;
  }
}

}  // namespace
}  // namespace instr::documentation_test
