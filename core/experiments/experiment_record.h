// Experiments: the product of the axes (core/definitions/axes.h) over the definitions. The result
// of each, and its line in a results file.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/definitions/axes.h"
#include "core/definitions/select.h"
#include "core/results/measurement.h"

namespace instr {

// With the eager ones that others are compared with.
Selection with_eager(Selection selection);

// How a line was measured, so that a run does not resume a file measured in another way.
struct ExperimentSetting {
  int repetitions = 0;                    // timed runs
  std::optional<int> iterations_per_run;  // absent: as many as fill a run's minimum time
  std::string libtorch;                   // its version
  std::string device_model;               // "Intel(R) Xeon(R) ..."

  bool operator==(const ExperimentSetting&) const = default;
};

enum class ExperimentState { kMeasured, kFailed, kSkipped };

// One line of results.jsonl.
struct ExperimentRecord {
  Variant variant;  // as given by its key, with the definition's file
  ExperimentSetting setting;
  ExperimentState state = ExperimentState::kMeasured;
  std::string reason;                      // of what is not measured: "crashed: SIGSEGV"
  std::optional<FailureKind> failure;      // of a failed one: what its reason begins with
  std::vector<double> total_times;         // seconds of each run
  std::vector<double> per_iter_times;      // the same per iteration
  std::uint64_t iterations = 0;            // of a run
  std::map<std::string, double> metrics;   // all others, by their names in the line
  std::optional<CompilerReport> compiler;  // of a compiler of whole functions
  std::vector<OperatorTime> operators;     // with --profile: those with the most time in themselves
  VerificationCode code = VerificationCode::kVerifierSkipped;
  std::string code_reason;
  std::string timestamp;  // UTC; empty for a new record
  std::size_t experiments =
      0;  // of its run, which is complete once the file has so many; 0: unknown
};

ExperimentRecord record_of(const Measurement& measurement, const ExperimentSetting& setting);

// The inverse of record_of, as far as the record goes: times, memory, verification.
Measurement measurement_of(const ExperimentRecord& record);

nlohmann::ordered_json to_json(const ExperimentRecord& record);

// Whether measuring it again would give the same. Unknown if its worker was lost.
bool is_final(const ExperimentRecord& record);

// The inverse. An error, without a place, if the line is not from to_json.
Expected<ExperimentRecord> parse_experiment(std::string_view line);

}  // namespace instr
