// Files of results as a report, with a column for each.
#pragma once

#include <string>
#include <vector>

#include "core/compare/compare.h"
#include "core/html/report_data.h"

namespace instr {

// Oldest first. `vary`: what may differ between them (--vary of compare).
Expected<ReportData> report_of_files(const std::vector<ResultSet>& files,
                                     const std::vector<std::string>& vary,
                                     const Acceptances& accepted);

}  // namespace instr
