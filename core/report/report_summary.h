// The summary of a run, below its table: how many were counted, and what failed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/report/report.h"

namespace instr {

// False if it is merely unsupported here: then it is skipped.
bool is_failure(const Measurement& measurement);

// Variants that failed to be measured, or verified, grouped by message.
struct FailureGroup {
  std::string kind;
  std::string message;  // printable
  std::vector<std::string> keys;
};

// Variants skipped for the same reason.
struct SkipGroup {
  std::string reason;  // printable
  std::size_t count = 0;
};

struct Summary {
  std::size_t counted = 0;
  std::size_t timed = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
  std::vector<std::string> unsteady;  // of the gated ones: "key: 1,200, then 1,204"
  double seconds = 0;                 // of all measurements
  std::vector<FailureGroup> failures;
  std::size_t verified = 0;
  std::vector<FailureGroup> unverified;  // those whose code is not PASS; the reason is the message
  std::vector<SkipGroup> skips;
};

Summary summarize(const std::vector<Measurement>& measurements);

// "83 counted, 1 of them not steady; 12 skipped; 2 failed; 14.8 s"
std::string summary_line(const Summary& summary, const ReportOptions& options);

}  // namespace instr
