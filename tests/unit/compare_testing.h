// Result sets for the tests of the comparison.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/compare/compare.h"

namespace instr::testing {

inline Measurement counted(const std::string& key, std::map<std::string, double> metrics) {
  Measurement measurement;
  measurement.variant.key = key;
  Counted outcome;
  outcome.steady = true;
  outcome.iterations = 20;
  if (auto ir = metrics.find("ir"); ir != metrics.end()) {
    outcome.first_block_ir = outcome.second_block_ir = ir->second;
  }
  outcome.metrics = std::move(metrics);
  measurement.outcome = std::move(outcome);
  return measurement;
}

inline Measurement counted(const std::string& key, double ir) {
  return counted(key, {{"ir", ir}, {"allocs", 2}, {"alloc_bytes", 128}, {"peak_bytes", 64}});
}

inline Measurement unsteady(const std::string& key, double first, double second) {
  Measurement measurement = counted(key, second);
  auto& outcome = std::get<Counted>(measurement.outcome);
  outcome.steady = false;
  outcome.first_block_ir = first;
  return measurement;
}

inline Measurement failed(const std::string& key, FailureKind kind = FailureKind::kCrashed,
                          const std::string& message = "ended by a signal") {
  Measurement measurement;
  measurement.variant.key = key;
  measurement.outcome = Failure{kind, message};
  return measurement;
}

inline Measurement skipped(const std::string& key, const std::string& reason = "needs CUDA") {
  Measurement measurement;
  measurement.variant.key = key;
  measurement.outcome = Skipped{reason};
  return measurement;
}

inline ResultSet results(const std::string& name, std::vector<Measurement> measurements) {
  ResultSet set;
  set.name = name;
  set.results.measurements = std::move(measurements);
  return set;
}

inline ResultSet before(std::vector<Measurement> measurements) {
  return results("the baseline", std::move(measurements));
}

inline ResultSet after(std::vector<Measurement> measurements) {
  return results("the new results", std::move(measurements));
}

}  // namespace instr::testing
