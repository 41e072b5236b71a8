#include "core/report_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/format.h"
#include "core/terminal.h"

namespace instr {

namespace {

constexpr std::size_t kSlots = 4;  // runtime x autograd
constexpr std::array<const char*, kSlots> kSlotNames{"eager", "eager fwd+bwd", "TorchScript",
                                                     "TorchScript fwd+bwd"};

std::size_t slot_of(const Variant& variant) {
  return (variant.runtime == Runtime::kTorchScript ? 2 : 0) +
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
  bench.name = slash == std::string::npos ? without_start(suffix) : label.substr(slash + 1) + suffix;
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

GridCell metric_cell(const Counted& counted, const std::string& metric) {
  auto found = counted.metrics.find(metric);
  if (found == counted.metrics.end()) return {"-", Tone::kDim};
  return {format_count(found->second)};
}

GridCell instructions_cell(const Measurement* measurement) {
  if (measurement == nullptr) return {};
  const Counted* counted = counted_of(measurement);
  if (counted == nullptr) {
    if (is_failure(*measurement)) return {"failed", Tone::kBad};
    return {"skipped", Tone::kDim};
  }
  GridCell cell = metric_cell(*counted, "ir");
  if (!counted->steady) {
    cell = {"~" + cell.text, Tone::kWarning};
  }
  if (!counted->gated) cell = {"*" + cell.text, Tone::kDim};
  return cell;
}

// The measurement that allocations are shown of.
const Counted* first_counted(const Bench& bench) {
  for (const Measurement* measurement : bench.slots) {
    if (const Counted* counted = counted_of(measurement)) return counted;
  }
  return nullptr;
}

GridCell steady_cell(const Bench& bench) {
  if (first_counted(bench) == nullptr) return {};
  for (const Measurement* measurement : bench.slots) {
    const Counted* counted = counted_of(measurement);
    if (counted != nullptr && !counted->steady) return {"no", Tone::kWarning};
  }
  return {"yes", Tone::kGood};
}

std::string heading_of(const std::string& metric) {
  if (metric == "alloc_bytes") return "bytes";
  std::string heading = metric;
  std::replace(heading.begin(), heading.end(), '_', ' ');
  return heading;
}

// Which columns there are, and how to fill them.
struct Plan {
  std::vector<std::size_t> slots;
  std::vector<std::string> metrics;
};

Plan plan_of(const std::vector<Bench>& benches, const ReportOptions& options) {
  Plan plan;
  const auto& wanted = options.metrics;
  bool instructions = std::find(wanted.begin(), wanted.end(), "ir") != wanted.end();
  for (std::size_t slot = 0; slot < kSlots && instructions; ++slot) {
    bool exists = std::any_of(benches.begin(), benches.end(),
                              [slot](const Bench& bench) { return bench.slots[slot] != nullptr; });
    if (exists) plan.slots.push_back(slot);
  }
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(plan.metrics),
               [](const std::string& metric) { return metric != "ir"; });
  return plan;
}

std::vector<GridColumn> metric_columns(const Plan& plan) {
  std::vector<GridColumn> columns;
  for (const std::string& metric : plan.metrics) columns.push_back({heading_of(metric)});
  columns.push_back({"steady"});
  return columns;
}

void add_metric_cells(GridRow& row, const Bench& bench, const Plan& plan) {
  const Counted* counted = first_counted(bench);
  for (const std::string& metric : plan.metrics) {
    row.cells.push_back(counted == nullptr ? GridCell{} : metric_cell(*counted, metric));
  }
  row.cells.push_back(steady_cell(bench));
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
  if (plan.slots.empty()) return notes;
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

}  // namespace

std::string toned(const std::string& text, Tone tone, bool color) {
  switch (tone) {
    case Tone::kPlain: return text;
    case Tone::kGood: return styled(text, Style::kGood, color);
    case Tone::kWarning: return styled(text, Style::kWarning, color);
    case Tone::kBad: return styled(text, Style::kBad, color);
    case Tone::kDim: return styled(text, Style::kDim, color);
  }
  return text;
}

Grid make_grid(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  std::vector<Bench> benches = benches_of(measurements);
  Plan plan = plan_of(benches, options);
  Grid grid{{}, {}, footnotes_of(measurements, plan)};
  for (std::size_t slot : plan.slots) grid.columns.push_back({kSlotNames[slot], true});
  for (GridColumn& column : metric_columns(plan)) grid.columns.push_back(std::move(column));
  std::map<std::string, std::size_t> known;
  for (const Bench& bench : benches) {
    GridGroup& group = find_or_add(grid.groups, known, bench.group);
    group.name = bench.group;
    GridRow row{bench.full_name, bench.name, {}};
    for (std::size_t slot : plan.slots) row.cells.push_back(instructions_cell(bench.slots[slot]));
    add_metric_cells(row, bench, plan);
    group.rows.push_back(std::move(row));
  }
  return grid;
}

Grid make_tall_grid(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  std::vector<Bench> benches = benches_of(measurements);
  Plan plan = plan_of(benches, options);
  Grid grid{{}, {}, footnotes_of(measurements, plan)};
  if (!plan.slots.empty()) grid.columns.push_back({"instructions"});
  for (GridColumn& column : metric_columns(plan)) grid.columns.push_back(std::move(column));
  for (const Bench& bench : benches) {
    GridGroup& group = grid.groups.emplace_back();
    group.name = bench.full_name;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      if (bench.slots[slot] == nullptr) continue;
      Bench alone = bench;
      alone.slots.fill(nullptr);
      alone.slots[slot] = bench.slots[slot];
      GridRow row{bench.full_name + " " + kSlotNames[slot], kSlotNames[slot], {}};
      if (!plan.slots.empty()) row.cells.push_back(instructions_cell(bench.slots[slot]));
      add_metric_cells(row, alone, plan);
      group.rows.push_back(std::move(row));
    }
  }
  return grid;
}

Summary summarize(const std::vector<Measurement>& measurements) {
  Summary summary;
  std::map<std::string, std::size_t> failures;
  std::map<std::string, std::size_t> skips;
  for (const Measurement& measurement : measurements) {
    summary.seconds += measurement.seconds;
    if (const auto* counted = std::get_if<Counted>(&measurement.outcome)) {
      ++summary.counted;
      if (!counted->steady && counted->gated) {
        summary.unsteady.push_back(printable(measurement.variant.key) + ": " +
                                   format_count(counted->first_block_ir) + ", then " +
                                   format_count(counted->second_block_ir));
      }
    } else if (is_failure(measurement)) {
      ++summary.failed;
      const auto& failure = std::get<Failure>(measurement.outcome);
      std::string kind = to_string(failure.kind);
      std::string message = printable(failure.message, true);
      FailureGroup& group = find_or_add(summary.failures, failures, kind + "\n" + message);
      group.kind = kind;
      group.message = message;
      group.keys.push_back(printable(measurement.variant.key));
    } else {
      ++summary.skipped;
      const auto* skipped = std::get_if<Skipped>(&measurement.outcome);
      std::string reason = printable(skipped != nullptr
                                         ? skipped->reason
                                         : std::get<Failure>(measurement.outcome).message);
      SkipGroup& group = find_or_add(summary.skips, skips, reason);
      group.reason = reason;
      ++group.count;
    }
  }
  return summary;
}

std::string summary_line(const Summary& summary, const ReportOptions& options) {
  auto number = [](std::size_t count) { return format_count(static_cast<double>(count)); };
  std::string line = number(summary.counted) + " counted";
  if (!summary.unsteady.empty()) {
    line += ", " + number(summary.unsteady.size()) + " of them not steady";
  }
  if (summary.skipped > 0) line += "; " + number(summary.skipped) + " skipped";
  if (summary.failed > 0) line += "; " + number(summary.failed) + " failed";
  if (options.seconds) return line + "; " + format_duration(*options.seconds);
  return line + "; " + format_duration(summary.seconds) + " of measuring";
}

}  // namespace instr
