#include "core/compare/planted_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/definitions/metrics.h"
#include "core/definitions/variant.h"

namespace instr {

namespace {

constexpr std::array<Plant, 5> kPlants{
    {{"instructions_10", "10 instructions", "planted::step", 10},
     {"instructions_100", "100 instructions", "planted::step", 100},
     {"instructions_1000", "1,000 instructions", "planted::step", 1000},
     {"allocation", "an allocation of 64 bytes", "planted::buffer", std::nullopt, 1, 64},
     {"branch", "the more expensive branch in 1 of 64", "planted::piece<17>", std::nullopt}}};

// The backward pass of the planted operator repeats its work.
double count_calls(const std::string& key) { return is_differentiated(parse_key(key)) ? 2 : 1; }

bool grew_by(const ComparedRow& row, const std::string& metric, double expected) {
  const MetricChange* change = row.metric(metric);
  return change != nullptr && change->change() == expected;
}

bool is_found(const Plant& plant, const ComparedRow& row) {
  double calls = count_calls(row.key);
  return row.verdict == Verdict::kFails && row.state == RowState::kSlower &&
         (!plant.ir || grew_by(row, kInstructions, *plant.ir * calls)) &&
         grew_by(row, "allocs", plant.allocs * calls) &&
         grew_by(row, "alloc_bytes", plant.alloc_bytes * calls);
}

double sum_changes(const ComparedRow& row, const std::string& function) {
  if (!row.attribution) return 0;
  double sum = 0;
  for (const FunctionChange& part : row.attribution->parts) {
    if (part.function.find(function) != std::string::npos) sum += part.change;
  }
  return sum;
}

}  // namespace

std::span<const Plant> plants() { return kPlants; }

std::vector<PlantFinding> judge_plant(const Plant& plant, const Comparison& comparison) {
  std::vector<PlantFinding> findings;
  for (const ComparedRow& row : comparison.rows) {
    PlantFinding finding{row.key, is_found(plant, row)};
    finding.change = row.ir_change();
    finding.function_change = sum_changes(row, plant.function);
    // Most of the cost of an allocation is in the allocator, that of other plants in the function.
    finding.is_attributed = plant.allocs > 0
                                ? finding.function_change > 0
                                : finding.change > 0 && finding.function_change == finding.change;
    findings.push_back(finding);
  }
  std::ranges::sort(findings, {}, &PlantFinding::key);
  return findings;
}

std::vector<std::string> find_false_alarms(const Comparison& comparison) {
  std::vector<std::string> keys;
  for (const ComparedRow& row : comparison.rows) {
    bool is_fine = row.state == RowState::kSame || row.state == RowState::kSkipped;
    if (!is_fine) keys.push_back(row.key);
  }
  return keys;
}

std::string exact_limits() {
  return fmt::format("{}=+0", fmt::join(names_of(kUsualMetrics), "=+0|"));
}

}  // namespace instr
