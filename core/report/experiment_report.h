// The report of experiments that a person reads: a summary by backend, what to look at, and how
// many there were. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/report/report.h"
#include "core/results/experiment.h"

namespace instr {

struct ExperimentReportOptions {
  ReportFormat format = ReportFormat::kTable;  // or kMarkdown
  int width = 0;                               // columns of a table; 0: as many as it needs
  bool color = false;
  bool shows_each = false;  // also a line for each experiment
};

// Without the last line's end, to which what the run took can be added.
std::string experiment_report(const std::vector<ExperimentRecord>& records,
                              const ExperimentReportOptions& options);

}  // namespace instr
