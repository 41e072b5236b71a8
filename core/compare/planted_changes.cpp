#include "core/compare/planted_changes.h"

#include <algorithm>
#include <array>

#include "core/definitions/metrics.h"

namespace instr {

namespace {

constexpr std::array<Plant, 5> kPlants{
    {{"instructions_10", "10 instructions", "planted::step", 10},
     {"instructions_100", "100 instructions", "planted::step", 100},
     {"instructions_1000", "1,000 instructions", "planted::step", 1000},
     {"allocation", "an allocation of 64 bytes", "planted::buffer", std::nullopt, 1, 64},
     {"branch", "the more expensive branch in 1 of 64", "planted::piece<17>", std::nullopt}}};

// The backward pass of the planted operator repeats its work.
double calls_in(const std::string& key) {
  return key.find("/forward_backward/") == std::string::npos ? 1 : 2;
}

bool grew_by(const ComparedRow& row, const std::string& metric, double expected) {
  const MetricChange* found = row.metric(metric);
  return found != nullptr && found->change() == expected;
}

bool is_found(const Plant& plant, const ComparedRow& row) {
  double calls = calls_in(row.key);
  return row.verdict == Verdict::kFails && row.state == RowState::kSlower &&
         (!plant.ir || grew_by(row, kInstructions, *plant.ir * calls)) &&
         grew_by(row, "allocs", plant.allocs * calls) &&
         grew_by(row, "alloc_bytes", plant.alloc_bytes * calls);
}

double change_in(const ComparedRow& row, const std::string& function) {
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
    const MetricChange* ir = row.metric(kInstructions);
    finding.change = ir == nullptr ? 0 : ir->change().value_or(0);
    finding.function_change = change_in(row, plant.function);
    // An allocation costs most in the allocator; the cost of all other plants is in the function
    // itself.
    finding.is_attributed = plant.allocs > 0
                                ? finding.function_change > 0
                                : finding.change > 0 && finding.function_change == finding.change;
    findings.push_back(finding);
  }
  std::sort(findings.begin(), findings.end(),
            [](const auto& left, const auto& right) { return left.key < right.key; });
  return findings;
}

std::vector<std::string> false_alarms(const Comparison& comparison) {
  std::vector<std::string> keys;
  for (const ComparedRow& row : comparison.rows) {
    bool is_fine = row.state == RowState::kSame || row.state == RowState::kSkipped;
    if (!is_fine) keys.push_back(row.key);
  }
  return keys;
}

std::string exact_limits() {
  std::string limits;
  for (const std::string& metric : names_of(kUsualMetrics)) {
    limits += (limits.empty() ? "" : "|") + metric + "=+0";
  }
  return limits;
}

}  // namespace instr
