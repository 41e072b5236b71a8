// Experiments as a page shows them: the summary, the findings and the details of each. Pure.
#pragma once

#include <vector>

#include "core/experiments/experiment_record.h"
#include "core/report/html_data.h"

namespace instr {

// `files`: records of each file, the oldest first. Of a group (ExperimentGroup) that several files
// have, those of the newest file count.
ReportExperiments report_experiments(const std::vector<std::vector<ExperimentRecord>>& files);

}  // namespace instr
