#include "core/report/bench_cells.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "core/base/format.h"
#include "core/report/backend_summary.h"
#include "core/report/report_summary.h"
#include "core/results/significance.h"

namespace instr {

namespace {

Slot make_slot(const Variant& variant) {
  return {variant.language, variant.backend, variant.autograd};
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

}  // namespace

std::string name_slot(const Slot& slot) {
  return format_column_name(slot.language, slot.backend, slot.autograd);
}

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

const Measurement* find(const Variants& variants, const Slot& slot) {
  const auto it = variants.find(slot);
  return it == variants.end() ? nullptr : it->second;
}

const Counted* counted_of(const Measurement* measurement) {
  return measurement == nullptr ? nullptr : std::get_if<Counted>(&measurement->outcome);
}

std::string format_metric(const std::string& metric, double value) {
  if (is_duration(metric)) return format_time(value);
  const Metric* known = find_metric(metric);
  const bool is_ratio = known != nullptr && known->unit == Unit::kRatio;
  return is_ratio ? fmt::format("{:.3g}x", value) : format_count(value);
}

DocumentCell metric_cell(const Counted& counted, const std::string& metric) {
  const auto it = counted.metrics.find(metric);
  if (it == counted.metrics.end()) return {"-", Tone::kDim};
  return {format_metric(metric, it->second)};
}

DocumentCell empty_cell(const Measurement* measurement) {
  if (measurement == nullptr) return {};
  if (is_failure(*measurement)) return {"failed", Tone::kBad};
  return {"skipped", Tone::kDim};
}

DocumentCell variant_cell(const Variants& variants, const Slot& slot, const char* metric) {
  const Measurement* measurement = find(variants, slot);
  const Counted* counted = counted_of(measurement);
  if (counted == nullptr) return empty_cell(measurement);
  if (metric == std::string_view(kInstructions)) return instructions_cell(*measurement, *counted);
  if (metric == std::string_view(kWall)) return wall_cell(*measurement, *counted, variants);
  return metric_cell(*counted, metric);
}

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

}  // namespace instr
