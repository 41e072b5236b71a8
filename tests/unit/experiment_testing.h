// Results of experiments for tests.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/results/measurement.h"

namespace instr::testing {

inline Timing& timing_of(Measurement& measurement) {
  return *std::get<Counted>(measurement.outcome).timing;
}

inline Measurement measured(const std::string& key, std::vector<double> wall, double peak,
                            std::optional<VerificationCode> code = {}) {
  Counted counted;
  counted.steady = true;
  counted.timing = Timing{{{kWall, std::move(wall)}}, 100};
  counted.iterations = 100;
  counted.metrics = {{"ready", 5e6}, {"first_result", 4e6}, {"peak_bytes", peak}};
  add_times(counted.metrics, *counted.timing);
  Measurement made{parse_key(key), std::move(counted), 0};
  if (is_candidate(made.variant)) {
    replace_ready_times(std::get<Counted>(made.outcome).metrics);
  }
  if (code && is_candidate(made.variant)) made.verification = Verification{*code, "why"};
  return made;
}

// Gives each candidate the times of its eager as measured alternately with its own.
inline std::vector<Measurement> beside_eager(std::vector<Measurement> measurements) {
  for (Measurement& candidate : measurements) {
    if (!is_candidate(candidate.variant) || find_timing(candidate) == nullptr) continue;
    for (Measurement& eager : measurements) {
      if (eager.variant.key != make_eager(candidate.variant).key) continue;
      timing_of(candidate).eager = timing_of(eager).of(kWall);
    }
  }
  return measurements;
}

}  // namespace instr::testing
