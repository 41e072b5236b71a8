#include "core/report/report_tables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "core/base/format.h"
#include "core/definitions/variant.h"
#include "core/report/backend_summary.h"
#include "core/report/report_summary.h"
#include "core/results/significance.h"

namespace instr {

namespace {

// A measurement's place in the row of its benchmark.
struct Place {
  Language language;
  Backend backend;
  Autograd autograd;

  auto operator<=>(const Place&) const = default;
};

Place make_place(const Variant& variant) {
  return {variant.language, variant.backend, variant.autograd};
}

std::string name_place(const Place& place) {
  return format_column_name(place.language, place.backend, place.autograd);
}

using Variants = std::map<Place, const Measurement*>;

// Measurements whose variants only differ in their place.
struct Bench {
  VariantName name;  // of the first
  Variants variants = {};
};

struct BenchRow {
  const Bench& bench;
  Variants shown;  // all of the benchmark's variants, or one
};

struct Column {
  DocumentColumn shown;
  std::function<DocumentCell(const BenchRow&)> cell;
};

std::vector<Bench> collect_benches(const std::vector<Measurement>& measurements) {
  std::vector<Bench> benches;
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const Measurement& measurement : measurements) {
    Bench bench{name_variant(measurement.variant)};
    const Place place = make_place(measurement.variant);
    std::vector<std::size_t>& known = by_name[bench.name.full];
    // A second measurement of one variant gets another row: nothing is left out silently.
    auto free = std::find_if(known.begin(), known.end(),
                             [&](std::size_t i) { return !benches[i].variants.contains(place); });
    if (free == known.end()) {
      known.push_back(benches.size());
      free = std::prev(known.end());
      benches.push_back(std::move(bench));
    }
    benches[*free].variants[place] = &measurement;
  }
  return benches;
}

const Measurement* find(const Variants& variants, const Place& place) {
  const auto it = variants.find(place);
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

// The cell of a variant without values.
DocumentCell empty_cell(const Measurement* measurement) {
  if (measurement == nullptr) return {};
  if (is_failure(*measurement)) return {"failed", Tone::kBad};
  return {"skipped", Tone::kDim};
}

// Shows the code of a result that did not pass, in the place of a speed-up.
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
  Place place = make_place(measurement.variant);
  if (place.backend == Backend::kEager) return {time};
  place.backend = Backend::kEager;
  const Counted* eager = counted_of(find(variants, place));
  if (eager == nullptr || !eager->timing) return {time};
  const auto faster = speedup_over(*eager->timing, *timed.timing);
  if (!faster) return {time};
  if (faster->is_same()) return {time + "  same"};
  return {time + "  " + to_string(*faster), faster->ratio > 1 ? Tone::kGood : Tone::kWarning};
}

DocumentCell variant_cell(const Variants& variants, const Place& place, const char* metric) {
  const Measurement* measurement = find(variants, place);
  const Counted* counted = counted_of(measurement);
  if (counted == nullptr) return empty_cell(measurement);
  if (metric == std::string_view(kInstructions)) return instructions_cell(*measurement, *counted);
  if (metric == std::string_view(kWall)) return wall_cell(*measurement, *counted, variants);
  return metric_cell(*counted, metric);
}

// The fastest backend of each language that has several: for forward, or else with backward.
DocumentCell fastest_cell(const Variants& variants) {
  std::map<std::pair<Language, Autograd>, std::vector<const Measurement*>> alternatives;
  for (const auto& [place, measurement] : variants) {
    alternatives[{place.language, place.autograd}].push_back(measurement);
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
  for (const auto& [place, measurement] : variants) {
    const Counted* counted = counted_of(measurement);
    if (counted == nullptr) continue;
    ++counts;
    if (counted->steady) ++steady;
  }
  if (counts == 0) return {};
  if (steady == counts) return {"yes", Tone::kGood};
  return {steady == 0 ? "no" : fmt::format("{} of {}", steady, counts), Tone::kWarning};
}

// The places that are columns. A place at which all variants were skipped is left out, since these
// are listed below, unless a row has no other place.
std::set<Place> shown_places(const std::vector<Bench>& benches) {
  std::set<Place> places;
  for (const Bench& bench : benches) {
    for (const auto& [place, measurement] : bench.variants) {
      const bool is_skipped = counted_of(measurement) == nullptr && !is_failure(*measurement);
      if (!is_skipped) places.insert(place);
    }
  }
  for (const Bench& bench : benches) {
    const bool has_any =
        std::any_of(bench.variants.begin(), bench.variants.end(),
                    [&](const auto& entry) { return places.contains(entry.first); });
    if (has_any) continue;
    for (const auto& [place, measurement] : bench.variants) places.insert(place);
  }
  return places;
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
      : is_tall_(is_tall), places_(shown_places(benches)) {
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
    owners_ = places_;
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
      for (const Place& owner : owners_) add_others(owner);
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
    for (const Place& place : places_) {
      add({.heading = name_place(place), .span = panel.heading},
          [metric, place](const BenchRow& row) {
            return variant_cell(row.bench.variants, place, metric);
          });
    }
  }

  // The other metrics of the variant at that place; absent: of the row's only variant.
  void add_others(const std::optional<Place>& owner) {
    const bool is_named = owner && places_.size() > 1;
    for (const std::string& metric : others_) {
      add({.heading = metric_heading(metric), .span = is_named ? name_place(*owner) : ""},
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
    for (const Place& place : places_) backends.insert(place.backend);
    return has_times && backends.size() > 1;
  }

  bool is_tall_;
  std::set<Place> places_;
  std::set<Place> owners_;  // whose other metrics a row shows
  std::vector<const Metric*> panels_;
  std::vector<std::string> others_;
  bool has_counts_ = false;
  std::vector<Column> columns_;
};

DocumentTable empty_table(const std::vector<Column>& columns, const ReportOptions& options) {
  DocumentTable table{.columns = {{.heading = "", .name = "benchmark", .align = Align::kLeft}},
                      .too_wide = TooWide::kStacked,
                      .stacked_title = shown_values(options) + " per iteration, by variant:"};
  for (const Column& column : columns) table.columns.push_back(column.shown);
  return table;
}

void add_cells(DocumentRow& made, const std::vector<Column>& columns, const BenchRow& row) {
  for (const Column& column : columns) made.cells.push_back(column.cell(row));
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

DocumentTable wide_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  const std::vector<Bench> benches = collect_benches(measurements);
  const std::vector<Column> columns = ColumnMaker(benches, options, /*is_tall=*/false).make();
  DocumentTable table = empty_table(columns, options);
  std::map<std::string, std::size_t> groups;
  for (const Bench& bench : benches) {
    groups.emplace(bench.name.group, groups.size());
    DocumentRow row{
        .cells = {{bench.name.full}}, .group = bench.name.group, .name = bench.name.row};
    add_cells(row, columns, {bench, bench.variants});
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [&groups](const auto& a, const auto& b) {
    return groups.at(a.group) < groups.at(b.group);
  });
  return table;
}

DocumentTable tall_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  const std::vector<Bench> benches = collect_benches(measurements);
  const std::vector<Column> columns = ColumnMaker(benches, options, /*is_tall=*/true).make();
  DocumentTable table = empty_table(columns, options);
  table.is_tall = true;
  table.has_keys = options.show_keys;
  for (const Bench& bench : benches) {
    for (const auto& [place, measurement] : bench.variants) {
      DocumentRow row;
      if (options.show_keys) {
        row.group = printable(measurement->variant.key);
        row.cells = {{row.group}};
      } else {
        row.group = bench.name.full;
        row.name = name_place(place);
        row.cells = {{row.group + " " + row.name}};
      }
      add_cells(row, columns, {bench, {{place, measurement}}});
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace instr
