#include "core/report/report_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/values/backends.h"
#include "core/values/significance.h"

namespace instr {

namespace {

constexpr std::size_t kAutogradSlots = 2;  // of each runtime
constexpr std::size_t kSlots = kRuntimes.size() * kAutogradSlots;

std::string slot_name(std::size_t slot) {
  std::string name = facts_of(static_cast<Runtime>(slot / kAutogradSlots)).title;
  return slot % kAutogradSlots == 0 ? name : name + " fwd+bwd";
}

std::size_t slot_of(const Variant& variant) {
  return static_cast<std::size_t>(variant.runtime) * kAutogradSlots +
         (variant.autograd == Autograd::kForwardBackward ? 1 : 0);
}

// What a row is made of: the variants that differ in runtime and autograd alone.
struct Bench {
  std::string group;
  std::string name;
  std::string full_name;
  std::array<const Measurement*, kSlots> slots{};
};

std::string suffix_of(const Variant& variant) {
  std::string suffix;
  for (const auto& [name, value] : variant.params) suffix += " " + name + "=" + value;
  if (variant.threads != 1) suffix += fmt::format(" t{}", variant.threads);
  if (variant.device != "cpu") suffix += " " + variant.device;
  return printable(suffix);
}

std::string without_start(std::string text) {
  return text.starts_with(' ') ? text.substr(1) : text;
}

Bench bench_of(const Variant& variant) {
  Bench bench;
  std::string label = printable(variant.label);
  std::string suffix = suffix_of(variant);
  std::size_t slash = label.find('/');
  bench.group = label.substr(0, slash);
  bench.full_name = label + suffix;
  bench.name =
      slash == std::string::npos ? without_start(suffix) : label.substr(slash + 1) + suffix;
  if (bench.name.empty()) bench.name = label;
  return bench;
}

std::vector<Bench> benches_of(const std::vector<Measurement>& measurements) {
  std::vector<Bench> benches;
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const Measurement& measurement : measurements) {
    Bench bench = bench_of(measurement.variant);
    std::size_t slot = slot_of(measurement.variant);
    std::vector<std::size_t>& known = by_name[bench.full_name];
    // A second measurement of one variant gets a row of its own: nothing is left out silently.
    auto free = std::find_if(known.begin(), known.end(),
                             [&](std::size_t i) { return benches[i].slots[slot] == nullptr; });
    if (free == known.end()) {
      known.push_back(benches.size());
      free = std::prev(known.end());
      benches.push_back(std::move(bench));
    }
    benches[*free].slots[slot] = &measurement;
  }
  return benches;
}

const Counted* counted_of(const Measurement* measurement) {
  return measurement == nullptr ? nullptr : std::get_if<Counted>(&measurement->outcome);
}

bool is_failure(const Measurement& measurement) {
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  return failure != nullptr && failure->kind != FailureKind::kUnsupported;
}

TableCell metric_cell(const Counted& counted, const std::string& metric) {
  auto found = counted.metrics.find(metric);
  if (found == counted.metrics.end()) return {"-", Tone::kDim};
  return {format_metric(metric, found->second)};
}

// For a variant that has no values.
TableCell empty_cell(const Measurement* measurement) {
  if (measurement == nullptr) return {};
  if (is_failure(*measurement)) return {"failed", Tone::kBad};
  return {"skipped", Tone::kDim};
}

// A result that is not known to be right has its code where a speed-up would be.
std::optional<TableCell> unverified_cell(const Measurement& measurement, const std::string& value) {
  const auto& verification = measurement.verification;
  if (!verification || verification->code == VerificationCode::kPass) return std::nullopt;
  return TableCell{value + "  " + to_string(verification->code),
                   verification->is_wrong() ? Tone::kBad : Tone::kWarning};
}

TableCell instructions_cell(const Bench& bench, std::size_t slot) {
  const Counted* counted = counted_of(bench.slots[slot]);
  if (counted == nullptr) return empty_cell(bench.slots[slot]);
  TableCell cell = metric_cell(*counted, kInstructions);
  if (!counted->steady) {
    cell = {"~" + cell.text, Tone::kWarning};
  }
  if (!counted->gated) cell = {"*" + cell.text, Tone::kDim};
  if (counted->timing) return cell;  // the times' cell says so
  return unverified_cell(*bench.slots[slot], cell.text).value_or(cell);
}

// The time, and for all but eager how much faster than that, where chance does not explain it.
TableCell wall_cell(const Bench& bench, std::size_t slot) {
  const Counted* timed = counted_of(bench.slots[slot]);
  if (timed == nullptr) return empty_cell(bench.slots[slot]);
  if (!timed->timing) return {"-", Tone::kDim};
  std::string time = format_time(median(timed->timing->wall));
  if (auto cell = unverified_cell(*bench.slots[slot], time)) return *cell;
  std::size_t eager_slot = slot % kAutogradSlots;
  const Counted* eager = slot == eager_slot ? nullptr : counted_of(bench.slots[eager_slot]);
  if (eager == nullptr || !eager->timing) return {time};
  auto found = speedup(eager->timing->wall, timed->timing->wall);
  if (!found) return {time};
  if (found->is_same()) return {time + "  same"};
  return {fmt::format("{}  {:.2f}x (p={:.2f})", time, found->ratio, found->p),
          found->ratio > 1 ? Tone::kGood : Tone::kWarning};
}

// The runtime that is the fastest for a benchmark's forward, or else for all of it.
TableCell fastest_cell(const Bench& bench) {
  for (std::size_t autograd = 0; autograd < kAutogradSlots; ++autograd) {
    std::vector<const Measurement*> alternatives;
    for (std::size_t slot = autograd; slot < kSlots; slot += kAutogradSlots) {
      alternatives.push_back(bench.slots[slot]);
    }
    const Measurement* fastest = fastest_of(alternatives);
    if (fastest != nullptr) return {slot_name(slot_of(fastest->variant) - autograd)};
  }
  return {};
}

// The measurement that allocations are shown of.
const Counted* first_counted(const Bench& bench) {
  for (const Measurement* measurement : bench.slots) {
    if (const Counted* counted = counted_of(measurement)) return counted;
  }
  return nullptr;
}

TableCell steady_cell(const Bench& bench) {
  if (first_counted(bench) == nullptr) return {};
  for (const Measurement* measurement : bench.slots) {
    const Counted* counted = counted_of(measurement);
    if (counted != nullptr && !counted->steady) return {"no", Tone::kWarning};
  }
  return {"yes", Tone::kGood};
}

std::string heading_of(const std::string& metric) {
  const Metric* known = find_metric(metric);
  return known == nullptr ? metric : known->heading;
}

TableCell variant_cell(const Bench& bench, std::size_t slot, std::string_view metric) {
  if (metric == kInstructions) return instructions_cell(bench, slot);
  if (metric == kWall) return wall_cell(bench, slot);
  const Counted* timed = counted_of(bench.slots[slot]);
  return timed == nullptr ? empty_cell(bench.slots[slot])
                          : metric_cell(*timed, std::string(metric));
}

// Which columns there are, and how to fill them.
struct Plan {
  std::vector<const Metric*> panels;  // with a cell for each variant of a row, side by side
  std::vector<std::size_t> slots;
  std::vector<std::string> metrics;  // of one variant of the row
  bool has_counts = false;
  bool names_fastest = false;  // there is more than one runtime to choose from

  bool shows(const char* metric) const {
    return std::find(panels.begin(), panels.end(), find_metric(metric)) != panels.end();
  }
};

Plan plan_of(const std::vector<Bench>& benches, const ReportOptions& options) {
  Plan plan;
  for (const std::string& metric : options.metrics) {
    const Metric* known = find_metric(metric);
    if (known != nullptr && known->is_side_by_side) {
      plan.panels.push_back(known);
    } else {
      plan.metrics.push_back(metric);
    }
    plan.has_counts = plan.has_counts || find_metric(metric, kTimeMetrics) == nullptr;
  }
  for (std::size_t slot = 0; slot < kSlots && !plan.panels.empty(); ++slot) {
    bool exists = std::any_of(benches.begin(), benches.end(),
                              [slot](const Bench& bench) { return bench.slots[slot] != nullptr; });
    if (exists) plan.slots.push_back(slot);
  }
  std::size_t first = plan.slots.empty() ? 0 : plan.slots.front() / kAutogradSlots;
  plan.names_fastest =
      plan.shows(kWall) && !plan.slots.empty() && plan.slots.back() / kAutogradSlots != first;
  return plan;
}

std::vector<GridColumn> metric_columns(const Plan& plan) {
  std::vector<GridColumn> columns;
  if (plan.names_fastest) columns.push_back({"fastest"});
  for (const std::string& metric : plan.metrics) columns.push_back({heading_of(metric)});
  if (plan.has_counts) columns.push_back({"steady"});
  return columns;
}

void add_metric_cells(GridRow& row, const Bench& bench, const Plan& plan) {
  const Counted* counted = first_counted(bench);
  if (plan.names_fastest) row.cells.push_back(fastest_cell(bench));
  for (const std::string& metric : plan.metrics) {
    row.cells.push_back(counted == nullptr ? TableCell{} : metric_cell(*counted, metric));
  }
  if (plan.has_counts) row.cells.push_back(steady_cell(bench));
}

std::vector<std::string> footnotes_of(const std::vector<Measurement>& measurements,
                                      const Plan& plan) {
  bool unsteady = false;
  bool ungated = false;
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    unsteady = unsteady || !counted->steady;
    ungated = ungated || !counted->gated;
  }
  std::vector<std::string> notes;
  if (!plan.shows(kInstructions)) return notes;
  if (unsteady) notes.emplace_back("~ not steady: two blocks of iterations had different counts");
  if (ungated) {
    notes.emplace_back("* more than one thread: the count depends on scheduling and is not gated");
  }
  return notes;
}

// The element whose `member` is `value`; a new one at the end where there is none.
template <class T>
T& find_or_add(std::vector<T>& all, std::map<std::string, std::size_t>& known,
               const std::string& name) {
  auto [found, is_new] = known.emplace(name, all.size());
  if (is_new) all.emplace_back();
  return all[found->second];
}

void add_to_group(std::vector<FailureGroup>& groups, std::map<std::string, std::size_t>& known,
                  const std::string& kind, const std::string& words, const std::string& key) {
  std::string message = printable(words, true);
  FailureGroup& group = find_or_add(groups, known, kind + "\n" + message);
  group.kind = kind;
  group.message = message;
  group.keys.push_back(printable(key));
}

}  // namespace

std::string format_metric(const std::string& metric, double value) {
  return is_duration(metric) ? format_time(value) : format_count(value);
}

std::string full_heading(const GridColumn& column) {
  bool is_usual = column.span.empty() || column.span == find_metric(kInstructions)->heading;
  return is_usual ? column.heading : column.span + " " + column.heading;
}

std::string shown_values(const ReportOptions& options) {
  const auto& metrics = options.metrics;
  bool has_times = std::any_of(metrics.begin(), metrics.end(), is_duration);
  bool has_counts = !std::all_of(metrics.begin(), metrics.end(), is_duration);
  if (has_times) return has_counts ? "instructions and times" : "times";
  return "instructions";
}

Grid make_grid(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  std::vector<Bench> benches = benches_of(measurements);
  Plan plan = plan_of(benches, options);
  Grid grid{{}, {}, footnotes_of(measurements, plan)};
  for (const Metric* panel : plan.panels) {
    for (std::size_t slot : plan.slots) grid.columns.push_back({slot_name(slot), panel->heading});
  }
  for (GridColumn& column : metric_columns(plan)) grid.columns.push_back(std::move(column));
  std::map<std::string, std::size_t> known;
  for (const Bench& bench : benches) {
    GridGroup& group = find_or_add(grid.groups, known, bench.group);
    group.name = bench.group;
    GridRow row{bench.full_name, bench.name, {}};
    for (const Metric* panel : plan.panels) {
      for (std::size_t slot : plan.slots)
        row.cells.push_back(variant_cell(bench, slot, panel->name));
    }
    add_metric_cells(row, bench, plan);
    group.rows.push_back(std::move(row));
  }
  return grid;
}

Grid make_tall_grid(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  std::vector<Bench> benches = benches_of(measurements);
  Plan plan = plan_of(benches, options);
  Grid grid{{}, {}, footnotes_of(measurements, plan)};
  for (const Metric* panel : plan.panels) grid.columns.push_back({panel->heading});
  for (GridColumn& column : metric_columns(plan)) grid.columns.push_back(std::move(column));
  for (const Bench& bench : benches) {
    GridGroup& group = grid.groups.emplace_back();
    group.name = bench.full_name;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      if (bench.slots[slot] == nullptr) continue;
      Bench alone = bench;
      alone.slots.fill(nullptr);
      alone.slots[slot] = bench.slots[slot];
      GridRow row{bench.full_name + " " + slot_name(slot), slot_name(slot), {}};
      for (const Metric* panel : plan.panels)
        row.cells.push_back(variant_cell(bench, slot, panel->name));
      add_metric_cells(row, alone, plan);
      group.rows.push_back(std::move(row));
    }
  }
  return grid;
}

Summary summarize(const std::vector<Measurement>& measurements) {
  Summary summary;
  std::map<std::string, std::size_t> failures;
  std::map<std::string, std::size_t> unverified;
  std::map<std::string, std::size_t> skips;
  for (const Measurement& measurement : measurements) {
    summary.seconds += measurement.seconds;
    if (const auto& verification = measurement.verification) {
      ++summary.verified;
      if (verification->code != VerificationCode::kPass) {
        add_to_group(summary.unverified, unverified, to_string(verification->code),
                     verification->reason, measurement.variant.key);
      }
    }
    if (const auto* counted = std::get_if<Counted>(&measurement.outcome)) {
      if (counted->metrics.contains(kInstructions)) ++summary.counted;
      if (counted->timing) ++summary.timed;
      if (!counted->steady && counted->gated) {
        summary.unsteady.push_back(printable(measurement.variant.key) + ": " +
                                   format_count(counted->first_block_ir) + ", then " +
                                   format_count(counted->second_block_ir));
      }
    } else if (is_failure(measurement)) {
      ++summary.failed;
      const auto& failure = std::get<Failure>(measurement.outcome);
      add_to_group(summary.failures, failures, to_string(failure.kind), failure.message,
                   measurement.variant.key);
    } else {
      ++summary.skipped;
      const auto* skipped = std::get_if<Skipped>(&measurement.outcome);
      std::string reason = printable(
          skipped != nullptr ? skipped->reason : std::get<Failure>(measurement.outcome).message);
      SkipGroup& group = find_or_add(summary.skips, skips, reason);
      group.reason = reason;
      ++group.count;
    }
  }
  return summary;
}

std::string summary_line(const Summary& summary, const ReportOptions& options) {
  auto number = [](std::size_t count) { return format_count(static_cast<double>(count)); };
  std::string line =
      summary.counted == 0 && summary.timed > 0 ? "" : number(summary.counted) + " counted";
  if (!summary.unsteady.empty()) {
    line += ", " + number(summary.unsteady.size()) + " of them not steady";
  }
  if (summary.timed > 0) line += (line.empty() ? "" : "; ") + number(summary.timed) + " timed";
  if (summary.skipped > 0) line += "; " + number(summary.skipped) + " skipped";
  if (summary.failed > 0) line += "; " + number(summary.failed) + " failed";
  if (summary.verified > 0) {
    std::size_t others = 0;
    for (const FailureGroup& group : summary.unverified) others += group.keys.size();
    line += "; " + number(summary.verified) + " verified";
    if (others > 0) line += ", " + number(others) + " of them not PASS";
  }
  if (options.seconds) return line + "; " + format_duration(*options.seconds);
  return line + "; " + format_duration(summary.seconds) + " of measuring";
}

}  // namespace instr
