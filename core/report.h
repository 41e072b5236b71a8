// Measurements as text: a table for people, Markdown for reviews, JSON, JSON Lines and CSV for
// programs. Pure functions; who prints them is somebody else's business.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/measurement.h"
#include "core/metrics.h"
#include "core/results.h"

namespace instr {

enum class ReportFormat { kTable, kMarkdown, kJson, kJsonl, kCsv };

struct ReportOptions {
  int width = 0;       // columns of the terminal; 0: no limit
  bool color = false;  // of the table
  std::vector<std::string> metrics{"ir", "allocs", "alloc_bytes"};  // that the tables show
  std::optional<double> seconds;  // wall time of the whole run; absent: the sum of the parts
  std::optional<ResultsHeader> header;  // for JSON and JSON Lines
};

// Rows come in the order of the measurements, each group at its first one. All end with a newline.
std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options);

std::string report_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);
std::string report_markdown(const std::vector<Measurement>& measurements,
                            const ReportOptions& options);
// One document: the header's fields, then "measurements" and "summary".
std::string report_json(const std::vector<Measurement>& measurements, const ReportOptions& options);
// The lines of a results file.
std::string report_jsonl(const std::vector<Measurement>& measurements,
                         const ReportOptions& options);
// RFC 4180, with a line of names first; parameters as "n=4 m=8".
std::string report_csv(const std::vector<Measurement>& measurements, const ReportOptions& options);

}  // namespace instr
