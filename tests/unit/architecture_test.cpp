// Checks the folders of core/ against docs/ARCHITECTURE.md, and a few rules about their code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/definitions/metrics.h"

namespace instr::architecture_test {
namespace {

namespace fs = std::filesystem;

// Returns the word after `before`, up to `end`; empty if the line does not begin with `before`.
std::string word_after(std::string_view line, std::string_view before, char end) {
  if (!line.starts_with(before)) return "";
  line.remove_prefix(before.size());
  return std::string(line.substr(0, line.find(end)));
}

std::vector<std::string> list_documented_folders() {
  std::ifstream text(fs::path(INSTR_SOURCE_DIR) / "docs/ARCHITECTURE.md");
  std::vector<std::string> folders;
  for (std::string line; std::getline(text, line);) {
    if (auto folder = word_after(line, "| `core/", '/');
        line.starts_with("| `core/" + folder + "/`")) {
      folders.push_back(folder);
    }
  }
  return folders;
}

TEST(Architecture, FoldersIncludeOnlyFoldersAboveThem) {
  const std::vector<std::string> folders = list_documented_folders();
  ASSERT_GE(folders.size(), 2u);
  std::set<std::string> existing;
  std::size_t includes = 0;
  const fs::path core = fs::path(INSTR_SOURCE_DIR) / "core";
  for (const auto& entry : fs::recursive_directory_iterator(core)) {
    if (!entry.is_regular_file()) continue;
    const std::string folder = fs::relative(entry.path(), core).begin()->string();
    existing.insert(folder);
    const auto own = std::find(folders.begin(), folders.end(), folder);
    std::ifstream text(entry.path());
    for (std::string line; std::getline(text, line);) {
      const std::string other = word_after(line, "#include \"core/", '/');
      if (other.empty()) continue;
      ++includes;
      EXPECT_LE(std::find(folders.begin(), folders.end(), other), own)
          << entry.path() << ": " << line;
    }
  }
  EXPECT_EQ(existing, std::set<std::string>(folders.begin(), folders.end()));
  EXPECT_GT(includes, 100u);
}

// Returns the files in these folders that have any of the words in a line of code.
std::set<std::string> find_files(const std::vector<std::string>& words,
                                 const std::vector<std::string>& folders = {"core", "main.cpp"}) {
  const fs::path source = INSTR_SOURCE_DIR;
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    if (fs::is_regular_file(source / folder)) files.push_back(source / folder);
    if (!fs::is_directory(source / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(source / folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::set<std::string> matches;
  for (const fs::path& file : files) {
    std::ifstream text(file);
    for (std::string line; std::getline(text, line);) {
      const std::string code = line.substr(0, line.find("//"));
      for (const std::string& word : words) {
        if (code.find(word) != std::string::npos) matches.insert(file.lexically_relative(source));
      }
    }
  }
  return matches;
}

// Output that is written elsewhere is not checked for errors, and so lost on a full disk.
TEST(Architecture, OnePlaceWritesStandardOutputAndStandardError) {
  EXPECT_EQ(find_files({"fmt::print(", " printf(", "std::printf(", "fprintf(", "std::cout",
                        "std::cerr", "puts(", "fwrite("}),
            std::set<std::string>{});
  EXPECT_EQ(find_files({"write_all(STDOUT_FILENO", "write_all(STDERR_FILENO"}),
            std::set<std::string>{"core/base/output.cpp"});
}

// Other code would read without a size limit, perhaps from a device. The exceptions read values
// from the kernel, and the end of the worker's log.
TEST(Architecture, OnePlaceReadsWholeFiles) {
  EXPECT_EQ(find_files({"ifstream", "fopen(", "rdbuf("}),
            (std::set<std::string>{"core/base/process.cpp", "core/measure/worker_process.cpp"}));
}

// A `default:` hides a forgotten enumerator from the compiler. The exceptions switch over
// characters and LibTorch's data types.
TEST(Architecture, NoSwitchOverAnOwnEnumHasADefault) {
  const std::vector<std::string> folders{"core/base",    "core/profile", "core/definitions",
                                         "core/results", "core/compile", "core/measure",
                                         "core/compare", "core/report",  "worker"};
  EXPECT_EQ(find_files({"default:"}, folders),
            (std::set<std::string>{"core/base/junit.cpp", "worker/native/verify.cpp"}));
}

// Only code that computes a metric names it; all other code uses the table.
TEST(Architecture, MetricsAreNamedOnlyWhereTheyAreComputed) {
  const std::vector<std::string> folders{"core/base",    "core/compile", "core/results",
                                         "core/measure", "core/report",  "core/compare"};
  std::vector<std::string> names;
  for (const Metric& metric : kMetrics) {
    // These names also have other meanings.
    if (metric.name != std::string_view(kCpu) && metric.name != std::string_view(kInstructions)) {
      names.push_back(std::string("\"") + metric.name + "\"");
    }
  }
  EXPECT_EQ(find_files(names, folders),
            (std::set<std::string>{
                "core/measure/parse_reply.cpp",
                "core/measure/dump.cpp",  // TorchScript's graphs
                "core/results/simulation.cpp",
                "core/compare/planted_changes.cpp",  // planted in these metrics
                "core/report/html_page.cpp",         // the branches of a history
                "core/results/profile_json.cpp",     // names of lists, as are the next
                "core/report/experiment_lines.cpp",  // own names of fields
            }));
}

}  // namespace
}  // namespace instr::architecture_test
