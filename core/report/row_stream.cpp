#include "core/report/row_stream.h"

#include <algorithm>
#include <utility>

#include "core/report/document_columns.h"

namespace instr {

namespace {

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
  shown.gated = counted->gated;
  return shown;
}

}  // namespace

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
    auto columns = fit_columns(run_table_->whole(), space_of(options_));
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
  if (options_.width > 0 && layout.total() > static_cast<std::size_t>(options_.width)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) table_.columns[i].min = layout.columns[i];
  next_line_ = line;
  ++next_bench_;
  for (const auto& [slot, measurement] : bench.variants) shown_.insert(measurement->variant.key);
  return table_text(part, options_.color);
}

}  // namespace instr
