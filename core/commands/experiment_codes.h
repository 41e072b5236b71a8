// --expect-codes of `experiment`: what was verified, compared with the codes in a committed file.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/cli/command_line.h"
#include "core/compare/expected_codes.h"

namespace instr {

struct CodesOptions {
  std::optional<std::filesystem::path> file = {};
  bool update = false;  // write the file instead
};

void declare_codes(CommandLine& line, CodesOptions& options);

// What is expected; nothing without a file, or if it is to be written. Before a run, so that a
// malformed file costs none.
tl::expected<std::vector<ExpectedCode>, Errors> codes_to_expect(const CodesOptions& options);

// What is to be told after the run, and what follows from it.
struct CodesVerdict {
  std::string text = {};                         // lines; empty if there is nothing to tell
  bool is_worse = false;                         // the run fails
  std::set<std::string> expected_failures = {};  // keys of failures that are none of this run's
};

// Compares, or writes the file.
tl::expected<CodesVerdict, Errors> judge_codes(const CodesOptions& options,
                                               const std::vector<ExpectedCode>& expected,
                                               const std::vector<ExperimentRecord>& records,
                                               const Selection& selection);

}  // namespace instr
