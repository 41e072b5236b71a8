// The rows of a run's table, in text, as they are measured.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/table.h"
#include "core/report/report_tables.h"

namespace instr {

// Each row is shown once it and all rows above it are complete. Columns are as wide as large counts
// need, and grow with larger ones. For runs that only count: a variant has one measurement.
class RowStream {
 public:
  // `variants`: all that will be measured, in the order of the rows.
  RowStream(const std::vector<Variant>& variants, const ReportOptions& options);
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  // Returns the lines of the rows that this measurement completes, with the headings above the
  // first one. Shows no rows from here on if they become too wide for the terminal.
  std::string take(const Measurement& measurement);

  // Returns the keys of the variants whose rows were shown; the report has the others.
  const std::set<std::string>& shown() const { return shown_; }

 private:
  void lay_out();
  std::optional<std::string> print_next();

  const ReportOptions options_;
  std::vector<Measurement> measurements_;  // all; after lay_out(), missing ones have large counts
  std::map<std::string, std::size_t> places_;  // key -> index into `measurements_`
  std::set<std::string> missing_;              // keys
  std::set<std::string> shown_;
  bool is_over_ = false;
  // From the first measurement on:
  std::optional<RunTable> run_table_;
  std::size_t next_bench_ = 0;
  std::vector<std::size_t> columns_;  // indices of the columns that the text shows
  Table table_;                       // all rows, those that were not shown with large counts
  std::size_t next_line_ = 0;
};

}  // namespace instr
