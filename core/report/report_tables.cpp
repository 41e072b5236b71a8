#include "core/report/report_tables.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "core/base/format.h"
#include "core/report/document_columns.h"
#include "core/report/report_summary.h"

namespace instr {

namespace {

using Column = RunTable::Column;
using BenchRow = RunTable::BenchRow;

// The slots that are columns. A slot at which all variants were skipped is left out, since these
// are listed below, unless a row has no other slot.
std::set<Slot> shown_slots(const std::vector<Bench>& benches) {
  std::set<Slot> slots;
  for (const Bench& bench : benches) {
    for (const auto& [slot, measurement] : bench.variants) {
      const bool is_skipped = counted_of(measurement) == nullptr && !is_failure(*measurement);
      if (!is_skipped) slots.insert(slot);
    }
  }
  for (const Bench& bench : benches) {
    const bool has_any =
        std::any_of(bench.variants.begin(), bench.variants.end(),
                    [&](const auto& entry) { return slots.contains(entry.first); });
    if (has_any) continue;
    for (const auto& [slot, measurement] : bench.variants) slots.insert(slot);
  }
  return slots;
}

bool has_metric(const std::vector<Bench>& benches, const std::string& metric) {
  return std::ranges::any_of(benches, [&metric](const Bench& bench) {
    return std::ranges::any_of(bench.variants | std::views::values, [&](const Measurement* one) {
      const Counted* counted = counted_of(one);
      return counted != nullptr && counted->metrics.contains(metric);
    });
  });
}

std::string metric_heading(const std::string& metric) {
  const Metric* known = find_metric(metric);
  return known == nullptr ? metric : known->heading;
}

// Makes the columns of a wide or a tall table.
class ColumnMaker {
 public:
  ColumnMaker(const std::vector<Bench>& benches, const ReportOptions& options, bool is_tall)
      : is_tall_(is_tall), slots_(shown_slots(benches)) {
    for (const std::string& metric : options.metrics) {
      const Metric* known = find_metric(metric);
      const bool is_rare = known != nullptr && known->group == MetricGroup::kCompile;
      if (is_rare && !has_metric(benches, metric)) continue;
      if (known != nullptr && known->is_side_by_side) {
        panels_.push_back(known);
      } else {
        others_.push_back(metric);
      }
      has_counts_ = has_counts_ || find_metric(metric, kTimeMetrics) == nullptr;
    }
    owners_ = slots_;
    if (panels_.empty()) return;
    owners_.clear();
    for (const Bench& bench : benches) owners_.insert(bench.variants.begin()->first);
  }

  std::vector<Column> make() {
    for (const Metric* panel : panels_) add_panel(*panel);
    if (names_fastest()) {
      add({"fastest"}, [](const BenchRow& row) { return fastest_cell(row.shown); });
      columns_.back().shown.is_spare = others_.empty() && !has_counts_;
    }
    if (is_tall_) {
      add_others(std::nullopt);
    } else {
      for (const Slot& owner : owners_) add_others(owner);
    }
    if (has_counts_) {
      // The marks at the values say the same.
      add({.heading = "steady", .is_spare = true},
          [](const BenchRow& row) { return steady_cell(row.shown); });
    }
    return std::move(columns_);
  }

 private:
  void add(DocumentColumn shown, std::function<DocumentCell(const BenchRow&)> cell) {
    columns_.push_back({std::move(shown), std::move(cell)});
  }

  // A column for each variant; in a tall table a row has one.
  void add_panel(const Metric& panel) {
    const char* metric = panel.name;
    if (is_tall_) {
      add({panel.heading}, [metric](const BenchRow& row) {
        return variant_cell(row.bench.variants, row.shown.begin()->first, metric);
      });
      return;
    }
    for (const Slot& slot : slots_) {
      add({.heading = name_slot(slot), .span = panel.heading}, [metric, slot](const BenchRow& row) {
        return variant_cell(row.bench.variants, slot, metric);
      });
    }
  }

  // The other metrics of the variant at that slot; absent: of the row's only variant.
  void add_others(const std::optional<Slot>& owner) {
    const bool is_named = owner && slots_.size() > 1;
    for (const std::string& metric : others_) {
      add({.heading = metric_heading(metric), .span = is_named ? name_slot(*owner) : ""},
          [metric, owner, has_panels = !panels_.empty()](const BenchRow& row) {
            const Measurement* measurement =
                owner ? find(row.shown, *owner) : row.shown.begin()->second;
            const Counted* counted = counted_of(measurement);
            if (counted != nullptr) return metric_cell(*counted, metric);
            // The cell of a panel says "failed".
            return has_panels ? DocumentCell{} : empty_cell(measurement);
          });
    }
  }

  bool names_fastest() const {
    const bool has_times = std::any_of(panels_.begin(), panels_.end(), [](const Metric* panel) {
      return panel == find_metric(kWall);
    });
    std::set<Backend> backends;
    for (const Slot& slot : slots_) backends.insert(slot.backend);
    return has_times && backends.size() > 1;
  }

  bool is_tall_;
  std::set<Slot> slots_;
  std::set<Slot> owners_;  // slots whose other metrics a row shows
  std::vector<const Metric*> panels_;
  std::vector<std::string> others_;
  bool has_counts_ = false;
  std::vector<Column> columns_;
};

}  // namespace

std::string shown_values(const ReportOptions& options) {
  const auto& metrics = options.metrics;
  const bool has_times = std::any_of(metrics.begin(), metrics.end(), is_duration);
  const bool has_counts = !std::all_of(metrics.begin(), metrics.end(), is_duration);
  if (has_times) return has_counts ? "instructions and times" : "times";
  return "instructions";
}

RunTable::RunTable(const std::vector<Measurement>& measurements, const ReportOptions& options,
                   Shape shape)
    : shape_(options.show_keys ? Shape::kTall : shape),
      show_keys_(options.show_keys),
      title_(shown_values(options) + " per iteration, by variant:"),
      benches_(collect_benches(measurements)),
      columns_(ColumnMaker(benches_, options, shape_ == Shape::kTall).make()) {
  if (shape_ == Shape::kTall) return;
  std::map<std::string, std::size_t> groups;
  for (const Bench& bench : benches_) groups.emplace(bench.name.group, groups.size());
  std::ranges::stable_sort(benches_, {},
                           [&groups](const Bench& bench) { return groups.at(bench.name.group); });
}

std::vector<DocumentRow> RunTable::rows(const Bench& bench) const {
  std::vector<DocumentRow> made;
  const auto add = [&](DocumentRow row, const Variants& variants) {
    for (const Column& column : columns_) row.cells.push_back(column.cell({bench, variants}));
    made.push_back(std::move(row));
  };
  if (shape_ == Shape::kWide) {
    add({.cells = {{bench.name.full}}, .group = bench.name.group, .name = bench.name.row},
        bench.variants);
    return made;
  }
  for (const auto& [slot, measurement] : bench.variants) {
    DocumentRow row{.cells = {}, .group = bench.name.full, .name = name_slot(slot)};
    row.cells = {{row.group + " " + row.name}};
    if (show_keys_) {
      row.group = printable(measurement->variant.key);
      row.cells = {{row.group}};
    }
    add(std::move(row), {{slot, measurement}});
  }
  return made;
}

DocumentTable RunTable::whole() const {
  DocumentTable table{.columns = {{.heading = "", .name = "benchmark", .align = Align::kLeft}},
                      .too_wide = TooWide::kStacked,
                      .stacked_title = title_,
                      .is_tall = shape_ == Shape::kTall,
                      .has_keys = show_keys_};
  for (const Column& column : columns_) table.columns.push_back(column.shown);
  for (const Bench& bench : benches_) {
    for (DocumentRow& row : rows(bench)) table.rows.push_back(std::move(row));
  }
  return table;
}

RunTable fitting_table(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  RunTable wide(measurements, options, RunTable::Shape::kWide);
  if (fit_columns(wide.whole(), space_of(options))) return wide;
  RunTable tall(measurements, options, RunTable::Shape::kTall);
  return fit_columns(tall.whole(), space_of(options)) ? tall : wide;
}

}  // namespace instr
