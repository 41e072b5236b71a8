// Compares printed text with the files in tests/fixtures/golden, or rewrites those files on
// request.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace instr::testing {

// Set by --rewrite-golden or, as ctest passes no options, by the environment.
inline bool rewrites_golden = std::getenv("INSTR_TEST_REWRITE_GOLDEN") != nullptr;

inline std::vector<std::string> split_golden(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Formats JSON for a golden file: a line for each member or element, and for those of a member that
// is a list of objects.
template <class Json>
std::string json_lines(const Json& json) {
  std::string text;
  for (const auto& [name, value] : json.items()) {
    if (json.is_object()) text += name + ": ";
    const bool has_objects = value.is_array() && !value.empty() && value.front().is_object();
    if (!has_objects) text += value.dump();
    for (const auto& element : value) {
      if (has_objects) text += "\n  " + element.dump();
    }
    text += "\n";
  }
  return text;
}

// Returns the lines from the first to the last difference, of the file with "-", of the text with
// "+".
inline std::string describe_difference(const std::string& file, const std::string& text) {
  const std::vector<std::string> before = split_golden(file);
  const std::vector<std::string> after = split_golden(text);
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head && before.rbegin()[tail] == after.rbegin()[tail]) ++tail;
  if (before == after) return ": only one of them ends with a line feed\n";
  std::string difference = " in line " + std::to_string(head + 1) + ":\n";
  for (std::size_t i = head; i < before.size() - tail; ++i) difference += "-" + before[i] + "\n";
  for (std::size_t i = head; i < after.size() - tail; ++i) difference += "+" + after[i] + "\n";
  return difference;
}

// A predicate for EXPECT_PRED_FORMAT2; the first two arguments are the expressions.
inline ::testing::AssertionResult matches_golden(const char*, const char*, const std::string& name,
                                                 const std::string& text) {
  const std::string relative = "tests/fixtures/golden/" + name;
  const std::filesystem::path path = std::filesystem::path(INSTR_SOURCE_DIR) / relative;
  if (rewrites_golden) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return ::testing::AssertionSuccess();
  }
  std::ifstream stream(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  if (stream && file == text) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << relative
         << (stream ? ": the file (-) and the printed text (+) differ" : ": cannot read the file")
         << (stream ? describe_difference(file, text) : "\n" + text)
         << "If the printed text is right, run unit_tests --rewrite-golden";
}

}  // namespace instr::testing

#define EXPECT_GOLDEN(name, text) \
  EXPECT_PRED_FORMAT2(::instr::testing::matches_golden, std::string(name), text)
