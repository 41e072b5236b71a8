// The result of an experiment: a variant from the product of the axes (core/definitions/axes.h)
// over the definitions. A line in a results file.
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
#include "core/results/fingerprint.h"
#include "core/results/measurement.h"

namespace instr {

// Adds eager, which the other backends are compared with.
Selection with_eager(Selection selection);

// The settings of a line: a run measures again what was measured with others.
struct ExperimentSetting {
  int repetitions = 0;                    // timed runs
  std::optional<int> iterations_per_run;  // absent: as many as fill a run's minimum time
  std::string libtorch;                   // its version
  std::string device_model;               // "Intel(R) Xeon(R) ..."; in a record on CUDA, the GPU's
  std::string gpu_model = {};             // of the run, "NVIDIA H200"; empty: unknown

  const std::string& model_of(const Variant& variant) const {
    return is_on_cuda(variant) && !gpu_model.empty() ? gpu_model : device_model;
  }

  bool operator==(const ExperimentSetting&) const = default;
};

enum class ExperimentState { kMeasured, kFailed, kSkipped };

// A line of results.jsonl.
struct ExperimentRecord {
  Variant variant;  // as given by its key, with the definition's file
  ExperimentSetting setting;
  ExperimentState state = ExperimentState::kMeasured;
  std::string reason;                      // if it is not measured: "crashed: SIGSEGV"
  std::optional<FailureKind> failure;      // if it failed: the beginning of the reason
  std::vector<double> total_times;         // seconds of each run
  std::vector<double> per_iter_times;      // the same per iteration
  std::vector<double> eager_times;         // of eager, measured alternately; may be missing
  std::optional<double> others;            // cores that other processes used during the runs
  std::uint64_t iterations = 0;            // of a run
  std::map<std::string, double> metrics;   // other metrics, by their names in the line
  std::optional<CompilerReport> compiler;  // of a compiler of whole functions
  std::vector<OperatorTime> operators;     // with --profile: those with the highest self times
  VerificationCode code = VerificationCode::kVerifierSkipped;
  std::string code_reason;
  Fingerprint fingerprint;      // of what the result depends on (experiment_identity.h)
  std::string timestamp;        // UTC; empty for a new record
  std::size_t experiments = 0;  // lines of the complete file; 0: unknown
};

ExperimentRecord record_of(const Measurement& measurement, const ExperimentSetting& setting);

// Returns the times of a record that was measured.
Timing timing_of(const ExperimentRecord& record);

// Converts a record back, with the times, memory and verification that it has.
Measurement measurement_of(const ExperimentRecord& record);

nlohmann::ordered_json to_json(const ExperimentRecord& record);

// Returns true if it could not be measured, or its result is wrong.
bool has_failed(const ExperimentRecord& record);

// The field of a fingerprint that says that the other fields are not all that the result depends
// on.
inline constexpr const char* kUnknownInputs = "unknown_inputs";

// Returns false if measuring again may give another result although nothing seems to have changed:
// the worker was lost, or it is not known which files were read (kUnknownInputs), also by a
// compiler that failed.
bool is_final(const ExperimentRecord& record);

// Parses a line that to_json made. Errors have no place.
Expected<ExperimentRecord> parse_experiment(std::string_view line);

}  // namespace instr
