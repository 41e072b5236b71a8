// Experiments: the product of accelerator, backend, test, data type, threads and batch size over
// the definitions. What is varied, what became of each one, and the line of a results file that
// says so.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/definitions/definition.h"
#include "core/definitions/select.h"
#include "core/values/measurement.h"

namespace instr {

// What takes the place of the definitions' own. Empty: those stay.
struct ExperimentAxes {
  std::vector<std::string> data_types = {};  // of what a snippet makes without naming one
  std::vector<int> batch_sizes = {};         // of definitions with a parameter `batch_size`
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};  // of definitions whose texts name `{device}`
};

inline constexpr const char* kDataTypes[] = {"float32", "float64", "float16", "bfloat16"};

// Definitions that have their own parameter `dtype` keep its values.
std::vector<Definition> with_axes(std::vector<Definition> definitions, const ExperimentAxes& axes);

// One of kDataTypes: LibTorch's default type while it runs.
std::string data_type_of(const Variant& variant);

// With the eager ones that others are held against.
Selection with_eager(Selection selection);

// Names of the axes' values, as files and options have them. Errors have no place.
Expected<std::string> accelerator_from(const std::string& name);
Expected<Runtime> backend_from(const std::string& name);
Expected<Autograd> test_from(const std::string& name);  // "eval": forward, "train": and backward
Expected<std::string> data_type_from(const std::string& name);

// What each line says of how it was measured, so that nobody goes on with another's file.
struct ExperimentSetting {
  int repeat = 0;                         // runs that are timed
  std::optional<int> iterations_per_run;  // absent: as many as a run's least time takes
  std::string libtorch;                   // its version
  std::string accelerator_model;          // "Intel(R) Xeon(R) ..."

  bool operator==(const ExperimentSetting&) const = default;
};

enum class ExperimentState { kMeasured, kFailed, kSkipped };

// One line of results.jsonl.
struct ExperimentRecord {
  Variant variant;  // what its key tells, with the definition's file
  ExperimentSetting setting;
  ExperimentState state = ExperimentState::kMeasured;
  std::string reason;                     // of what is not measured: "crashed: SIGSEGV"
  std::optional<FailureKind> failure;     // of a failed one: what its reason begins with
  std::vector<double> total_times;        // seconds of each run
  std::vector<double> per_iter_times;     // the same per iteration
  std::uint64_t iterations = 0;           // of a run
  std::map<std::string, double> metrics;  // all others, by their names in the line
  VerificationCode code = VerificationCode::kVerifierSkipped;
  std::string code_reason;
  std::string timestamp;  // UTC; of a record that was made now: empty
  std::size_t experiments =
      0;  // of its run, which is complete once the file has so many; 0: unknown
};

ExperimentRecord record_of(const Measurement& measurement, const ExperimentSetting& setting);

// What record_of takes, with all that the record keeps of it: times, memory, verification.
Measurement measurement_of(const ExperimentRecord& record);

nlohmann::ordered_json to_json(const ExperimentRecord& record);

// Whether measuring it again would end the same. Of one whose worker was lost nobody knows.
bool is_final(const ExperimentRecord& record);

// The other way. An error, without a place, if the line is none of to_json's.
Expected<ExperimentRecord> parse_experiment(std::string_view line);

}  // namespace instr
