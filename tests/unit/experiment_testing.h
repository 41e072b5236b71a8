// Records of experiments for tests.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/experiments/experiment_record.h"

namespace instr::testing {

inline const ExperimentSetting kSetting{3, std::nullopt, "2.13.0", "a CPU"};

inline Measurement measured(const std::string& key, std::vector<double> wall, double peak,
                            std::optional<VerificationCode> code = {}) {
  Counted counted;
  counted.timing = Timing{{{kWall, std::move(wall)}}, 100};
  counted.metrics = {{"ready", 5e6}, {"first_result", 4e6}, {"peak_bytes", peak}};
  Measurement made{parse_key(key), counted, 0};
  if (code) made.verification = Verification{*code, "why"};
  return made;
}

// Gives each candidate the times of its eager as measured alternately with its own.
inline std::vector<ExperimentRecord> beside_eager(std::vector<ExperimentRecord> records) {
  for (ExperimentRecord& candidate : records) {
    if (candidate.variant.backend == Backend::kEager) continue;
    for (const ExperimentRecord& eager : records) {
      if (eager.variant.key != make_eager(candidate.variant).key) continue;
      candidate.eager_times = eager.per_iter_times;
    }
  }
  return records;
}

inline ExperimentRecord record(const Measurement& measurement) {
  return record_of(measurement, kSetting);
}

}  // namespace instr::testing
