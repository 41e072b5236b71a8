// Where a single count goes, by source line.
#pragma once

#include <string>

#include "core/report/explain.h"
#include "core/values/line_costs.h"

namespace instr {

// In one of explain_formats(). `total`: the count, in instructions per iteration; the lines need
// not add up to it. JSON and CSV hold all lines, by file and place. All end with a newline.
std::string lines_report(ReportFormat format, const std::string& key, double total,
                         const LineCosts& costs, const ExplainOptions& options);

}  // namespace instr
