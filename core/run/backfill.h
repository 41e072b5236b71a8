// Measures past commits, each in a worktree, and records them in a history.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/program_end.h"

namespace instr {

struct BackfillOptions {
  fs::path history;                      // absolute
  std::string branch;                    // the commits' branch
  std::string range;                     // "A..B"
  std::string make = "true";             // builds a commit
  bool bisect = false;                   // measure only the commits that attribute steps
  std::vector<std::string> run_options;  // options of each run
};

// Reports each commit on standard error. Commits that are recorded already are skipped.
ExpectedStatus backfill(const BackfillOptions& options, std::stop_token stop);

}  // namespace instr
