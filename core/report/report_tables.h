// The tables of a run: measurements of one benchmark side by side, and the summary by backend.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/report/document.h"
#include "core/report/report.h"

namespace instr {

// A value in the unit of its metric: "1,234", "1.23 ms".
std::string format_metric(const std::string& metric, double value);

// The kind of the tables' values: "instructions", "times" or both.
std::string shown_values(const ReportOptions& options);

// A row for each benchmark, its variants side by side. Values too many to show for each variant are
// shown for a row's first variant, and their column says for which.
DocumentTable wide_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);

// A row for each variant: grouped by benchmark for narrow terminals, and by key with --show-keys.
DocumentTable tall_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);

// A row for each backend: how many benchmarks it works for, in how many it is the fastest, how much
// faster than eager (geometric mean), how long it takes to start. Absent if fewer than two were
// timed.
std::optional<DocumentTable> backend_table(const std::vector<Measurement>& measurements);

}  // namespace instr
