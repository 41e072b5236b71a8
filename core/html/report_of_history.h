// A history as a report.
#pragma once

#include "core/history/read.h"
#include "core/html/report_data.h"

namespace instr {

// `accepted`: which steps someone accepted.
Expected<ReportData> report_of_history(const SqlDatabase& database, const SeriesChoice& choice,
                                       const Acceptances& accepted);

}  // namespace instr
