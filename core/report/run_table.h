// The cells of a run's tables: what is shown of a benchmark's variants.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/table.h"
#include "core/definitions/variant.h"
#include "core/report/document.h"
#include "core/report/run_report.h"
#include "core/results/measurement.h"

namespace instr {

// A measurement's slot in the row of its benchmark.
struct Slot {
  Language language;
  Backend backend;
  Autograd autograd;

  auto operator<=>(const Slot&) const = default;
};

using Variants = std::map<Slot, const Measurement*>;

// Measurements whose variants only differ in their slot.
struct Bench {
  VariantName name;  // the first variant's name
  Variants variants = {};
};

// A value in the unit of its metric: "1,234", "1.23 ms".
std::string format_metric(const std::string& metric, double value);

// The kind of the tables' values: "instructions", "times" or both.
std::string shown_values(const ReportOptions& options);

// The table of a run. Values too many to show for each variant are shown for a row's first variant,
// and their column says for which.
class RunTable {
 public:
  enum class Shape {
    kWide,  // a row for each benchmark, its variants side by side
    kTall,  // a row for each variant, grouped by benchmark; with --show-keys named by its key
  };
  struct BenchRow {
    const Bench& bench;
    Variants shown;  // all of the benchmark's variants, or one
  };
  struct Column {
    DocumentColumn shown;
    std::function<DocumentCell(const BenchRow&)> cell;
  };

  // The measurements must outlive it; they determine the columns. With --show-keys always tall.
  RunTable(const std::vector<Measurement>& measurements, const ReportOptions& options, Shape shape);

  DocumentTable whole() const;

  // The benchmarks in the order of their rows, and the rows of one, with its current measurements.
  const std::vector<Bench>& benches() const { return benches_; }
  std::vector<DocumentRow> rows(const Bench& bench) const;

 private:
  Shape shape_;
  bool show_keys_;
  std::string title_;  // the title of stacked values
  std::vector<Bench> benches_;
  std::set<Slot> slots_;  // those that are shown
  std::vector<Column> columns_;
};

// The wide table, or the tall one if only that fits the terminal.
RunTable fitting_table(const std::vector<Measurement>& measurements, const ReportOptions& options);

// The rows of a run's table, in text, as they are measured.

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
