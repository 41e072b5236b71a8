// The rules of style in CONTRIBUTING.md that a program can check.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace instr::style_test {
namespace {

namespace fs = std::filesystem;

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
    std::ifstream text(file);
    bool continues = false;
    int number = 0;
    for (std::string line; std::getline(text, line);) {
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
    std::ifstream text(file);
    int number = 0;
    for (std::string line; std::getline(text, line);) {
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
    std::ifstream text(file);
    int lines = 0;
    for (std::string line; std::getline(text, line);) ++lines;
    EXPECT_LE(lines, 800) << file.string();
  }
}

}  // namespace
}  // namespace instr::style_test
