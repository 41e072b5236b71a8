// Selects the tests that run on a particular build or LibTorch. Tests declare their labels:
//
//   const RunsUnder kThreadSanitizer("thread", "Interruption.*");
//
// With INSTR_TEST_LABEL=thread in the environment, a test program runs the tests with that label
// only. Labels: `address` and `thread` (end-to-end tests of a sanitized program; unit tests of code
// that runs in threads), `newest` (end-to-end tests whose outcome depends on the LibTorch).
#pragma once

#include <string>

namespace instr {

struct RunsUnder {
  // `tests`, `except`: patterns of GoogleTest's --gtest_filter, separated by colons.
  RunsUnder(const std::string& label, const std::string& tests, const std::string& except = "");
};

// Returns the --gtest_filter that selects the tests with this label; empty if there are none.
std::string filter_of_label(const std::string& label);

}  // namespace instr
