// Experiments as a page shows them: the summary, the findings and the details of each. Pure.
#pragma once

#include <vector>

#include "core/report/backend_summary.h"
#include "core/report/html_page.h"
#include "core/results/measurement.h"

namespace instr {

// Returns whether any of these was timed alternately with eager, as experiments are.
bool has_experiments(const std::vector<Measurement>& measurements);

// `files`: measurements of each file, the oldest first. Of a group (SummaryGroup) that several
// files have, those of the newest file count.
ReportExperiments report_experiments(const std::vector<std::vector<Measurement>>& files,
                                     const SummaryOptions& options = {});

}  // namespace instr
