// The tables of a run: measurements of one benchmark side by side, and the summary by backend.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/report/bench_cells.h"
#include "core/report/document.h"
#include "core/report/report.h"

namespace instr {

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
  std::vector<Column> columns_;
};

// The wide table, or the tall one if only that fits the terminal.
RunTable fitting_table(const std::vector<Measurement>& measurements, const ReportOptions& options);

}  // namespace instr
