// The notes below the tables of a run: marks, failures, skipped variants, the summary.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/report/document.h"
#include "core/report/report.h"

namespace instr {

// False also for what is unsupported here, which counts as skipped.
bool is_failure(const Measurement& measurement);

struct Summary {
  std::size_t counted = 0;
  std::size_t timed = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
  std::vector<std::string> unsteady;  // gated variants: "key: 1,200, then 1,204"
  double seconds = 0;                 // the sum of all measurements
  std::vector<DocumentNote> failures;
  std::size_t verified = 0;
  std::vector<DocumentNote> unverified;  // codes other than PASS; the reason is the message
  std::vector<std::pair<std::string, std::size_t>> skips;  // variants by printable reason
};

Summary summarize(const std::vector<Measurement>& measurements);

// "83 counted, 1 of them not steady; 12 skipped; 2 failed; 14.8 s"
std::string summary_line(const Summary& summary, const ReportOptions& options);

std::vector<DocumentNote> report_notes(const std::vector<Measurement>& measurements,
                                       const ReportOptions& options);

}  // namespace instr
