#include "core/report/run_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "core/base/format.h"
#include "core/report/backend_summary.h"
#include "core/results/significance.h"

namespace instr {

namespace {

Slot make_slot(const Variant& variant) {
  return {variant.language, variant.backend, variant.autograd};
}

std::string name_slot(const Slot& slot) {
  return format_column_name(slot.language, slot.backend, slot.autograd);
}

// Groups measurements, which must outlive the result, in the order of each benchmark's first.
std::vector<Bench> collect_benches(const std::vector<Measurement>& measurements) {
  std::vector<Bench> benches;
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const Measurement& measurement : measurements) {
    Bench bench{name_variant(measurement.variant)};
    const Slot slot = make_slot(measurement.variant);
    std::vector<std::size_t>& known = by_name[bench.name.full];
    // A second measurement of one variant gets another row: nothing is left out silently.
    auto free = std::find_if(known.begin(), known.end(),
                             [&](std::size_t i) { return !benches[i].variants.contains(slot); });
    if (free == known.end()) {
      known.push_back(benches.size());
      free = std::prev(known.end());
      benches.push_back(std::move(bench));
    }
    benches[*free].variants[slot] = &measurement;
  }
  return benches;
}

// Null: there is none, or it has no values.
const Measurement* find(const Variants& variants, const Slot& slot) {
  const auto it = variants.find(slot);
  return it == variants.end() ? nullptr : it->second;
}

const Counted* counted_of(const Measurement* measurement) {
  return measurement == nullptr ? nullptr : std::get_if<Counted>(&measurement->outcome);
}

DocumentCell metric_cell(const Counted& counted, const std::string& metric) {
  const auto it = counted.metrics.find(metric);
  if (it == counted.metrics.end()) return {"-", Tone::kDim};
  return {format_metric(metric, it->second)};
}

// The cell of a variant without values; empty if there is no such variant.
DocumentCell empty_cell(const Measurement* measurement) {
  if (measurement == nullptr) return {};
  if (state_of(*measurement) == MeasuredState::kFailed) return {"failed", Tone::kBad};
  return {"skipped", Tone::kDim};
}

// Shows the code of a result that did not pass, in the slot of a speed-up.
std::optional<DocumentCell> unverified_cell(const Measurement& measurement,
                                            const std::string& value) {
  const auto& verification = measurement.verification;
  if (!verification || verification->code == VerificationCode::kPass) return std::nullopt;
  return DocumentCell{value + "  " + to_string(verification->code),
                      verification->is_wrong() ? Tone::kBad : Tone::kWarning};
}

DocumentCell instructions_cell(const Measurement& measurement, const Counted& counted) {
  DocumentCell cell = metric_cell(counted, kInstructions);
  if (counted.is_first_call()) cell.text = "1st " + cell.text;
  if (counted.changes_state) cell.text = "^" + cell.text;
  if (counted.reads_device) cell.text = "?" + cell.text;
  if (!counted.steady) cell = {"~" + cell.text, Tone::kWarning};
  if (!counted.gated) cell = {"*" + cell.text, Tone::kDim};
  if (counted.timing) return cell;  // the cell of the times has the code
  return unverified_cell(measurement, cell.text).value_or(cell);
}

// The time and, for other backends than eager, the speed-up unless chance explains it.
DocumentCell wall_cell(const Measurement& measurement, const Counted& timed,
                       const Variants& variants) {
  if (!timed.timing) return {"-", Tone::kDim};
  const std::string time = format_time(median(timed.timing->of(kWall)));
  if (auto cell = unverified_cell(measurement, time)) return *cell;
  Slot slot = make_slot(measurement.variant);
  if (slot.backend == Backend::kEager) return {time};
  slot.backend = Backend::kEager;
  const Counted* eager = counted_of(find(variants, slot));
  if (eager == nullptr || !eager->timing) return {time};
  const auto faster = speedup_over(*eager->timing, *timed.timing);
  if (!faster) return {time};
  if (faster->is_same()) return {time + "  same"};
  return {time + "  " + to_string(*faster), faster->ratio > 1 ? Tone::kGood : Tone::kWarning};
}

// The cell of one variant, with the marks of its count, or with its speed-up over eager.
DocumentCell variant_cell(const Variants& variants, const Slot& slot, const char* metric) {
  const Measurement* measurement = find(variants, slot);
  const Counted* counted = counted_of(measurement);
  if (counted == nullptr) return empty_cell(measurement);
  if (metric == std::string_view(kInstructions)) return instructions_cell(*measurement, *counted);
  if (metric == std::string_view(kWall)) return wall_cell(*measurement, *counted, variants);
  return metric_cell(*counted, metric);
}

// The fastest backend of each language that has several: for forward, or else with backward.
DocumentCell fastest_cell(const Variants& variants) {
  std::map<std::pair<Language, Autograd>, std::vector<const Measurement*>> alternatives;
  for (const auto& [slot, measurement] : variants) {
    alternatives[{slot.language, slot.autograd}].push_back(measurement);
  }
  std::map<Language, std::string> names;
  for (const auto& [key, measurements] : alternatives) {
    const Measurement* fastest = find_fastest(measurements);
    if (fastest == nullptr) continue;
    names.emplace(key.first,
                  format_column_name(key.first, fastest->variant.backend, Autograd::kForward));
  }
  return {fmt::format("{}", fmt::join(names | std::views::values, ", "))};
}

DocumentCell steady_cell(const Variants& variants) {
  std::size_t counts = 0;
  std::size_t steady = 0;
  for (const auto& [slot, measurement] : variants) {
    const Counted* counted = counted_of(measurement);
    if (counted == nullptr) continue;
    ++counts;
    if (counted->steady) ++steady;
  }
  if (counts == 0) return {};
  if (steady == counts) return {"yes", Tone::kGood};
  return {steady == 0 ? "no" : fmt::format("{} of {}", steady, counts), Tone::kWarning};
}

using Column = RunTable::Column;
using BenchRow = RunTable::BenchRow;

// The slots that have columns, or rows of a tall table. A slot at which all variants were skipped
// is left out, since these are listed below, unless a benchmark has no other slot.
std::set<Slot> shown_slots(const std::vector<Bench>& benches) {
  std::set<Slot> slots;
  for (const Bench& bench : benches) {
    for (const auto& [slot, measurement] : bench.variants) {
      if (state_of(*measurement) != MeasuredState::kSkipped) slots.insert(slot);
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
  ColumnMaker(const std::vector<Bench>& benches, const std::set<Slot>& slots,
              const ReportOptions& options, bool is_tall)
      : is_tall_(is_tall), slots_(slots) {
    for (const std::string& metric : options.metrics) {
      const Metric* known = find_metric(metric);
      const bool is_rare = known != nullptr && (known->group == MetricGroup::kCompile ||
                                                known->group == MetricGroup::kHost);
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
  const std::set<Slot>& slots_;
  std::set<Slot> owners_;  // slots whose other metrics a row shows
  std::vector<const Metric*> panels_;
  std::vector<std::string> others_;
  bool has_counts_ = false;
  std::vector<Column> columns_;
};

// From wide to narrow columns of instructions.
constexpr auto kLargeCounts = {123'456'789.0, 12'345'678.0, 1'234'567.0};

Counted large_counts(const Variant& variant, double instructions) {
  Counted counted;
  counted.steady = true;
  counted.iterations = 1;
  counted.warmup = is_first_call(variant) ? 0 : 1;
  // A statement that is counted once may compile, which takes more instructions.
  const double digits = is_counted_once(variant) ? 100 : 1;
  for (const Metric& metric : kMetrics) {
    if (metric.group == MetricGroup::kCompile && !variant.compiles) continue;
    if (metric.group == MetricGroup::kHost && !is_on_cuda(variant)) continue;
    counted.metrics[metric.name] = 1'234'567;
    if (metric.unit == Unit::kInstructions) counted.metrics[metric.name] = instructions * digits;
    if (metric.unit == Unit::kAllocations) counted.metrics[metric.name] = 12'345;
  }
  return counted;
}

// The outcome without what no row shows, such as functions.
std::variant<Counted, Skipped, Failure> shown_part(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) return measurement.outcome;
  Counted shown;
  shown.metrics = counted->metrics;
  shown.iterations = counted->iterations;
  shown.warmup = counted->warmup;
  shown.steady = counted->steady;
  shown.changes_state = counted->changes_state;
  shown.reads_device = counted->reads_device;
  shown.gated = counted->gated;
  return shown;
}

}  // namespace

std::string format_metric(const std::string& metric, double value) {
  if (is_duration(metric)) return format_time(value);
  const Metric* known = find_metric(metric);
  const bool is_ratio = known != nullptr && known->unit == Unit::kRatio;
  return is_ratio ? fmt::format("{:.3g}x", value) : format_count(value);
}

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
      slots_(shown_slots(benches_)),
      columns_(ColumnMaker(benches_, slots_, options, shape_ == Shape::kTall).make()) {
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
    if (!show_keys_ && !slots_.contains(slot)) continue;
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
  if (fit_columns(wide.whole(), options.render)) return wide;
  RunTable tall(measurements, options, RunTable::Shape::kTall);
  return fit_columns(tall.whole(), options.render) ? tall : wide;
}

RowStream::RowStream(const std::vector<Variant>& variants, const ReportOptions& options)
    : options_(options) {
  for (const Variant& variant : variants) {
    places_.emplace(variant.key, measurements_.size());
    missing_.insert(variant.key);
    measurements_.push_back({variant, Counted{}});
  }
}

void RowStream::lay_out() {
  const auto fit = [&](RunTable::Shape shape, double instructions) {
    for (Measurement& measurement : measurements_) {
      if (!missing_.contains(measurement.variant.key)) continue;
      measurement.outcome = large_counts(measurement.variant, instructions);
    }
    run_table_.emplace(measurements_, options_, shape);
    auto columns = fit_columns(run_table_->whole(), options_.render);
    if (!columns) return false;
    columns_ = std::move(columns->shown);
    table_ = std::move(columns->table);
    return true;
  };
  const bool is_wide = std::ranges::any_of(
      kLargeCounts, [&fit](double count) { return fit(RunTable::Shape::kWide, count); });
  is_over_ = !is_wide && !fit(RunTable::Shape::kTall, *kLargeCounts.begin());
  if (is_over_) return;
  const TableLayout layout = make_layout(table_);
  for (std::size_t i = 0; i < columns_.size(); ++i) table_.columns[i].min = layout.columns[i];
}

std::string RowStream::take(const Measurement& measurement) {
  const auto place = places_.find(measurement.variant.key);
  if (is_over_ || place == places_.end()) return "";
  measurements_[place->second].outcome = shown_part(measurement);
  missing_.erase(measurement.variant.key);
  if (!run_table_) {
    // A column without any value is left out, and what cannot be measured is known first.
    if (std::holds_alternative<Skipped>(measurement.outcome)) return "";
    lay_out();
  }
  std::string text;
  while (!is_over_ && next_bench_ < run_table_->benches().size()) {
    const Variants& variants = run_table_->benches()[next_bench_].variants;
    const bool is_complete = std::ranges::none_of(variants, [this](const auto& entry) {
      return missing_.contains(entry.second->variant.key);
    });
    if (!is_complete) break;
    const auto rows = print_next();
    is_over_ = !rows;
    text += rows.value_or("");
  }
  return text;
}

// Prints the rows of the next benchmark. Returns nothing if they do not fit.
std::optional<std::string> RowStream::print_next() {
  const Bench& bench = run_table_->benches()[next_bench_];
  // Not a copy of table_, which has all lines.
  Table part{.columns = table_.columns,
             .headings = next_bench_ == 0 ? table_.headings : Headings::kNone};
  std::size_t line = next_line_;
  for (const DocumentRow& row : run_table_->rows(bench)) {
    for (; table_.lines[line].cells.empty(); ++line) part.lines.push_back(table_.lines[line]);
    TableLine& shown = part.lines.emplace_back(table_.lines[line++]);
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      const DocumentCell& cell = row.cells[columns_[i]];
      shown.cells[i] = {cell.text, cell.tone};
    }
  }
  const TableLayout layout = make_layout(part);
  if (options_.render.width > 0 && layout.total() > options_.render.width) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) table_.columns[i].min = layout.columns[i];
  next_line_ = line;
  ++next_bench_;
  for (const auto& [slot, measurement] : bench.variants) shown_.insert(measurement->variant.key);
  return table_text(part, options_.render.color);
}

}  // namespace instr
