#include "core/report/report_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/definitions/variant.h"
#include "core/report/backend_summary.h"
#include "core/report/report_summary.h"
#include "core/results/significance.h"

namespace instr {

namespace {

constexpr std::size_t kAutogradSlots = 2;  // of each backend
constexpr std::size_t kLanguageSlots = kBackends.size() * kAutogradSlots;
constexpr std::size_t kSlots = kLanguages.size() * kLanguageSlots;

std::string slot_name(std::size_t slot) {
  const std::size_t in_language = slot % kLanguageSlots;
  return format_column_name(
      kLanguages[slot / kLanguageSlots].language, kBackends[in_language / kAutogradSlots].backend,
      slot % kAutogradSlots == 0 ? Autograd::kForward : Autograd::kForwardBackward);
}

std::size_t slot_of(const Variant& variant) {
  return static_cast<std::size_t>(variant.language) * kLanguageSlots +
         static_cast<std::size_t>(variant.backend) * kAutogradSlots +
         (variant.autograd == Autograd::kForwardBackward ? 1 : 0);
}

// What a row is made of: the variants that differ in language, backend and autograd alone.
struct Bench {
  VariantName name;  // of the first of them
  std::array<const Measurement*, kSlots> slots{};
};

std::vector<Bench> benches_of(const std::vector<Measurement>& measurements) {
  std::vector<Bench> benches;
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const Measurement& measurement : measurements) {
    Bench bench{name_variant(measurement.variant)};
    std::size_t slot = slot_of(measurement.variant);
    std::vector<std::size_t>& known = by_name[bench.name.full];
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
  if (counted->changes_state) cell.text = "^" + cell.text;
  if (!counted->steady) cell = {"~" + cell.text, Tone::kWarning};
  if (!counted->gated) cell = {"*" + cell.text, Tone::kDim};
  if (counted->timing) return cell;  // the times' cell says so
  return unverified_cell(*bench.slots[slot], cell.text).value_or(cell);
}

// The time, and for all but eager how much faster than that, where chance does not explain it.
TableCell wall_cell(const Bench& bench, std::size_t slot) {
  const Counted* timed = counted_of(bench.slots[slot]);
  if (timed == nullptr) return empty_cell(bench.slots[slot]);
  if (!timed->timing) return {"-", Tone::kDim};
  std::string time = format_time(median(timed->timing->of(kWall)));
  if (auto cell = unverified_cell(*bench.slots[slot], time)) return *cell;
  std::size_t eager_slot = slot - slot % kLanguageSlots + slot % kAutogradSlots;
  const Counted* eager = slot == eager_slot ? nullptr : counted_of(bench.slots[eager_slot]);
  if (eager == nullptr || !eager->timing) return {time};
  auto found = speedup(eager->timing->of(kWall), timed->timing->of(kWall));
  if (!found) return {time};
  if (found->is_same()) return {time + "  same"};
  return {time + "  " + to_string(*found), found->ratio > 1 ? Tone::kGood : Tone::kWarning};
}

// The backend of one language that is the fastest for a benchmark's forward, or else for all of it.
std::string fastest_in(const Bench& bench, std::size_t language) {
  for (std::size_t autograd = 0; autograd < kAutogradSlots; ++autograd) {
    std::vector<const Measurement*> alternatives;
    for (std::size_t slot = autograd; slot < kLanguageSlots; slot += kAutogradSlots) {
      alternatives.push_back(bench.slots[language * kLanguageSlots + slot]);
    }
    const Measurement* fastest = fastest_of(alternatives);
    if (fastest != nullptr) return slot_name(slot_of(fastest->variant) - autograd);
  }
  return "";
}

// Of each language that has more than one.
TableCell fastest_cell(const Bench& bench) {
  std::string names;
  for (std::size_t language = 0; language < kLanguages.size(); ++language) {
    const std::string name = fastest_in(bench, language);
    if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
  }
  return {names};
}

// Of all of the row's variants that were counted.
TableCell steady_cell(const Bench& bench) {
  std::size_t counted = 0;
  std::size_t steady = 0;
  for (const Measurement* measurement : bench.slots) {
    const Counted* one = counted_of(measurement);
    if (one == nullptr) continue;
    ++counted;
    if (one->steady) ++steady;
  }
  if (counted == 0) return {};
  if (steady == counted) return {"yes", Tone::kGood};
  return {steady == 0 ? "no" : fmt::format("{} of {}", steady, counted), Tone::kWarning};
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
  std::vector<std::string> metrics;  // the others
  std::vector<std::size_t> owners;   // the slots of a row that these are shown of
  bool has_counts = false;
  bool names_fastest = false;  // there is more than one backend to choose from

  bool shows(const char* metric) const {
    return std::find(panels.begin(), panels.end(), find_metric(metric)) != panels.end();
  }
};

bool is_skipped(const Measurement* measurement) {
  return counted_of(measurement) == nullptr && !is_failure(*measurement);
}

// Those that some row has a variant in. One in which all were skipped says nothing that is not said
// below the table, unless a row has no other.
std::vector<std::size_t> slots_of(const std::vector<Bench>& benches) {
  std::set<std::size_t> slots;
  const auto add = [&slots](const Bench& bench, const auto& is_shown) {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      if (bench.slots[slot] != nullptr && is_shown(bench.slots[slot])) slots.insert(slot);
    }
  };
  for (const Bench& bench : benches) add(bench, std::not_fn(is_skipped));
  for (const Bench& bench : benches) {
    const bool is_in_one = std::any_of(slots.begin(), slots.end(), [&bench](std::size_t slot) {
      return bench.slots[slot] != nullptr;
    });
    if (!is_in_one) add(bench, [](const Measurement*) { return true; });
  }
  return {slots.begin(), slots.end()};
}

// Those that are the first of some row: eager forward, where nothing was left out.
std::vector<std::size_t> first_slots_of(const std::vector<Bench>& benches) {
  std::set<std::size_t> first;
  for (const Bench& bench : benches) {
    auto found = std::find_if(bench.slots.begin(), bench.slots.end(),
                              [](const Measurement* one) { return one != nullptr; });
    first.insert(static_cast<std::size_t>(found - bench.slots.begin()));
  }
  return {first.begin(), first.end()};
}

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
  plan.slots = slots_of(benches);
  plan.owners = plan.panels.empty() ? plan.slots : first_slots_of(benches);
  std::set<std::size_t> backends;
  for (const std::size_t slot : plan.slots) {
    backends.insert(slot % kLanguageSlots / kAutogradSlots);
  }
  plan.names_fastest = plan.shows(kWall) && backends.size() > 1;
  return plan;
}

// The columns behind the panels; `owners`: whose metrics, where a row has more than one variant.
std::vector<GridColumn> metric_columns(const Plan& plan, const std::vector<std::string>& owners) {
  std::vector<GridColumn> columns;
  if (plan.names_fastest) columns.push_back({"fastest"});
  for (const std::string& owner : owners) {
    for (const std::string& metric : plan.metrics) columns.push_back({heading_of(metric), owner});
  }
  if (plan.has_counts) columns.push_back({"steady"});
  return columns;
}

void add_metric_cells(GridRow& row, const Bench& bench, const Plan& plan,
                      const std::vector<std::size_t>& owners) {
  if (plan.names_fastest) row.cells.push_back(fastest_cell(bench));
  for (std::size_t owner : owners) {
    const Counted* counted = counted_of(bench.slots[owner]);
    // Where it is said already that there is nothing, once is enough.
    TableCell otherwise = plan.panels.empty() ? empty_cell(bench.slots[owner]) : TableCell{};
    for (const std::string& metric : plan.metrics) {
      row.cells.push_back(counted == nullptr ? otherwise : metric_cell(*counted, metric));
    }
  }
  if (plan.has_counts) row.cells.push_back(steady_cell(bench));
}

// A footnote about times that were measured with more threads than cores.
std::string cores_note(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  const std::string text = options.header ? options.header->fingerprint.get(kTimedCores) : "";
  const int cores = std::atoi(text.c_str());
  const auto crowded =
      std::count_if(measurements.begin(), measurements.end(), [cores](const Measurement& one) {
        const Counted* timed = counted_of(&one);
        return timed != nullptr && timed->timing && one.variant.threads > cores;
      });
  if (cores == 0 || crowded == 0) return "";
  return fmt::format("{} had more threads than the {} that it could use",
                     format_plural(static_cast<std::size_t>(crowded), "timing"),
                     format_plural(static_cast<std::size_t>(cores), "core"));
}

std::vector<std::string> footnotes_of(const std::vector<Measurement>& measurements,
                                      const Plan& plan, const ReportOptions& options) {
  bool unsteady = false;
  bool has_state = false;
  bool ungated = false;
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    unsteady = unsteady || !counted->steady;
    has_state = has_state || counted->changes_state;
    ungated = ungated || !counted->gated;
  }
  std::vector<std::string> notes;
  if (auto note = busy_note(measurements); !note.empty()) notes.push_back(std::move(note));
  if (auto note = cores_note(measurements, options); !note.empty()) notes.push_back(note);
  if (!plan.shows(kInstructions)) return notes;
  if (unsteady) {
    notes.emplace_back(
        "~ not steady: blocks of iterations differed, or the count did not come out again");
  }
  if (has_state) {
    notes.emplace_back(
        "^ changes its own state: memory grows, or some iterations allocate more than others");
  }
  if (ungated) {
    notes.emplace_back(fmt::format("* not gated: {}", kWhyNotGated));
  }
  return notes;
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
  Grid grid{{}, {}, footnotes_of(measurements, plan, options)};
  for (const Metric* panel : plan.panels) {
    for (std::size_t slot : plan.slots) grid.columns.push_back({slot_name(slot), panel->heading});
  }
  std::vector<std::string> owners;
  for (std::size_t owner : plan.owners) {
    owners.push_back(plan.slots.size() == 1 ? "" : slot_name(owner));
  }
  for (GridColumn& column : metric_columns(plan, owners)) grid.columns.push_back(std::move(column));
  std::map<std::string, std::size_t> known;
  for (const Bench& bench : benches) {
    auto [place, is_new] = known.emplace(bench.name.group, grid.groups.size());
    if (is_new) grid.groups.push_back({bench.name.group, {}});
    GridGroup& group = grid.groups[place->second];
    GridRow row{bench.name.full, bench.name.row, {}};
    for (const Metric* panel : plan.panels) {
      for (std::size_t slot : plan.slots) {
        row.cells.push_back(variant_cell(bench, slot, panel->name));
      }
    }
    add_metric_cells(row, bench, plan, plan.owners);
    group.rows.push_back(std::move(row));
  }
  return grid;
}

Grid make_tall_grid(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  std::vector<Bench> benches = benches_of(measurements);
  Plan plan = plan_of(benches, options);
  Grid grid{{}, {}, footnotes_of(measurements, plan, options)};
  for (const Metric* panel : plan.panels) grid.columns.push_back({panel->heading});
  for (GridColumn& column : metric_columns(plan, {""})) grid.columns.push_back(std::move(column));
  grid.has_keys = options.show_keys;
  for (const Bench& bench : benches) {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const Measurement* one = bench.slots[slot];
      if (one == nullptr) continue;
      const std::string key = printable(one->variant.key);
      const std::string& of = options.show_keys ? key : bench.name.full;
      if (grid.groups.empty() || grid.groups.back().name != of) grid.groups.push_back({of, {}});
      Bench alone = bench;
      alone.slots.fill(nullptr);
      alone.slots[slot] = one;
      GridRow row{key, "", {}};
      if (!options.show_keys) row = {of + " " + slot_name(slot), slot_name(slot), {}};
      for (const Metric* panel : plan.panels) {
        row.cells.push_back(variant_cell(bench, slot, panel->name));
      }
      add_metric_cells(row, alone, plan, {slot});
      grid.groups.back().rows.push_back(std::move(row));
    }
  }
  return grid;
}

}  // namespace instr
