// Checks the folders of core/ against docs/ARCHITECTURE.md, and a few rules about their code.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "core/definitions/metrics.h"
#include "tests/testing.h"

namespace instr::architecture_test {
namespace {

using namespace testing;

// Returns the word after `before`, up to `end`; empty if the line does not begin with `before`.
std::string word_after(std::string_view line, std::string_view before, char end) {
  if (!line.starts_with(before)) return "";
  line.remove_prefix(before.size());
  return std::string(line.substr(0, line.find(end)));
}

std::vector<std::string> list_documented_folders() {
  std::vector<std::string> folders;
  for (const auto& line :
       split_lines(text_of(fs::path(INSTR_SOURCE_DIR) / "docs/ARCHITECTURE.md"))) {
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
    for (const std::string& line : split_lines(text_of(entry.path()))) {
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
    for (const std::string& line : split_lines(text_of(file))) {
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

// --- The rules of style in CONTRIBUTING.md that a program can check ---

bool is_source(const fs::path& file) {
  constexpr std::array<std::string_view, 6> kExtensions{".cpp", ".h", ".py", ".js", ".css", ".S"};
  return std::ranges::find(kExtensions, file.extension().string()) != kExtensions.end();
}

// All source files but recorded fixtures.
std::vector<fs::path> source_files() {
  const fs::path root = INSTR_SOURCE_DIR;
  std::vector<fs::path> files{root / "main.cpp"};
  for (const char* folder : {"core", "worker", "tests", "tools", "suites"}) {
    for (auto entry = fs::recursive_directory_iterator(root / folder);
         entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->path().filename() == "fixtures") entry.disable_recursion_pending();
      if (entry->is_regular_file() && is_source(entry->path())) files.push_back(entry->path());
    }
  }
  return files;
}

// The text of a comment in this line, or an empty string: a whole line, a docstring's first line,
// or a comment after code.
std::string_view comment_in(std::string_view line, const fs::path& file) {
  const bool python = file.extension() == ".py";
  for (std::string_view start : python ? std::array<std::string_view, 2>{"# ", "\"\"\""}
                                       : std::array<std::string_view, 2>{"// ", "/* "}) {
    const auto at = line.find(start);
    if (at == std::string_view::npos) continue;
    const std::string_view before = line.substr(0, at);
    const bool alone = before.find_first_not_of(' ') == std::string_view::npos;
    if (alone || before.ends_with("  ")) return line.substr(at + start.size());
  }
  return "";
}

// PROSE: a comment names its subject first.
bool begins_with_a_riddle(std::string_view comment) {
  constexpr std::array<std::string_view, 8> kWords{"What",  "Of",  "Those", "Whether",
                                                   "Where", "Who", "None",  "Likewise"};
  const std::string_view word = comment.substr(0, comment.find_first_of(" ,.:;"));
  return std::ranges::find(kWords, word) != kWords.end();
}

TEST(Style, CommentsNameTheirSubjectFirst) {
  std::size_t comments = 0;
  for (const fs::path& file : source_files()) {
    bool continues = false;
    int number = 0;
    for (const std::string& line : split_lines(text_of(file))) {
      ++number;
      const std::string_view comment = comment_in(line, file);
      if (!comment.empty() && !continues) {
        ++comments;
        EXPECT_FALSE(begins_with_a_riddle(comment))
            << file.string() << ":" << number << ": " << line;
      }
      continues = !comment.empty();
    }
  }
  EXPECT_GT(comments, 1000u);
}

// The comment behind code in this line, or an empty string.
std::string_view trailing_comment(std::string_view line) {
  const auto at = line.find("  // ");
  const bool has_code = at != std::string_view::npos && line.find_first_not_of(' ') < at;
  return has_code ? line.substr(at + 5) : "";
}

// PROSE: a trailing comment stands alone; it does not continue the name beside it.
bool continues_the_name(std::string_view comment) {
  constexpr std::array<std::string_view, 50> kWords{
      "above",  "after",   "also",   "and",     "as",     "at",    "because", "before", "below",
      "beside", "between", "beyond", "by",      "during", "else",  "except",  "for",    "from",
      "if",     "in",      "inside", "its",     "like",   "not",   "of",      "on",     "only",
      "or",     "per",     "since",  "so",      "than",   "that",  "then",    "though", "to",
      "under",  "unless",  "until",  "via",     "when",   "where", "whether", "which",  "while",
      "whose",  "with",    "within", "without", "yet"};
  const std::string_view word = comment.substr(0, comment.find_first_of(" ,.:;"));
  return std::ranges::find(kWords, word) != kWords.end();
}

TEST(Style, TrailingCommentsStandAlone) {
  std::size_t comments = 0;
  for (const fs::path& file : source_files()) {
    const fs::path extension = file.extension();
    const std::string place = file.lexically_relative(INSTR_SOURCE_DIR).string();
    if (extension != ".cpp" && extension != ".h") continue;
    if (!place.starts_with("core/") && !place.starts_with("worker/") && place != "main.cpp")
      continue;
    int number = 0;
    for (const std::string& line : split_lines(text_of(file))) {
      ++number;
      const std::string_view comment = trailing_comment(line);
      if (comment.empty()) continue;
      ++comments;
      EXPECT_FALSE(continues_the_name(comment)) << place << ":" << number << ": " << line;
    }
  }
  EXPECT_GT(comments, 1000u);
}

TEST(Style, FilesHaveAtMost800Lines) {
  for (const fs::path& file : source_files()) {
    EXPECT_LE(split_lines(text_of(file)).size(), 800u) << file.string();
  }
}

}  // namespace
}  // namespace instr::architecture_test
