// The main program of all test programs: runs the tests with the label in INSTR_TEST_LABEL, or all;
// --rewrite-golden rewrites the files of tests/golden.h.

#include <iostream>
#include <map>

#include "tests/golden.h"
#include "tests/labels.h"

namespace instr {

namespace {

struct Patterns {
  std::string tests;
  std::string except;
};

// A local static: labels are declared by static objects of other files, in no particular order.
std::map<std::string, Patterns>& labels() {
  static std::map<std::string, Patterns> labels;
  return labels;
}

void append(std::string& list, const std::string& patterns) {
  if (!list.empty() && !patterns.empty()) list += ":";
  list += patterns;
}

}  // namespace

RunsUnder::RunsUnder(const std::string& label, const std::string& tests,
                     const std::string& except) {
  append(labels()[label].tests, tests);
  append(labels()[label].except, except);
}

std::string filter_of_label(const std::string& label) {
  auto it = labels().find(label);
  if (it == labels().end()) return "";
  const auto& [tests, except] = it->second;
  return except.empty() ? tests : tests + "-" + except;
}

}  // namespace instr

int main(int argc, char** argv) {
  if (const char* label = std::getenv("INSTR_TEST_LABEL")) {
    const std::string filter = instr::filter_of_label(label);
    if (filter.empty()) {
      std::cerr << "error: INSTR_TEST_LABEL: no test of this program has the label `" << label
                << "`\n";
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);  // --gtest_filter on the command line replaces it
  }
  ::testing::InitGoogleTest(&argc, argv);  // removes its own options
  if (argc == 2 && std::string(argv[1]) == "--rewrite-golden") {
    instr::testing::rewrites_golden = true;
  }
  return RUN_ALL_TESTS();
}
