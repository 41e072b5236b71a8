// Files of results or of experiments as a report, with a column for each.
#pragma once

#include <string>
#include <vector>

#include "core/compare/compare.h"
#include "core/html/report_data.h"
#include "core/results/experiment.h"

namespace instr {

// Experiments as results, measured under what their settings say. There is at least one.
ResultSet results_of(const std::string& name, const std::vector<ExperimentRecord>& experiments);

// Oldest first. `vary`: what may differ between them (--vary of compare).
Expected<ReportData> report_of_files(const std::vector<ResultSet>& files,
                                     const std::vector<std::string>& vary,
                                     const Acceptances& accepted);

}  // namespace instr
