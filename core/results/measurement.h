// The result of measuring a variant: counted, skipped or failed; and the verdict on whether it
// computes the same as the eager variant of its benchmark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/metrics.h"
#include "core/definitions/select.h"
#include "core/definitions/variant.h"
#include "core/profile/call_graph.h"
#include "core/profile/call_tree.h"
#include "core/profile/profile.h"
#include "core/results/fingerprint.h"
#include "core/results/timing.h"

namespace instr {

enum class VerificationCode {
  kPass,
  kFail,
  kEagerFailed,
  kExceptionRaised,
  kNondeterministicEagerRun,
  kVerifierSkipped,   // there is nothing to compare
  kVerifierDidntRun,  // the worker was lost, crashed or timed out before a verdict
};

// "PASS", "EAGER_FAILED", ..., as in results and reports.
const char* to_string(VerificationCode code);
std::optional<VerificationCode> verification_code_from(const std::string& name);
std::vector<std::string> verification_code_names();

struct Verification {
  VerificationCode code = VerificationCode::kVerifierDidntRun;
  std::string reason;

  bool operator==(const Verification&) const = default;

  // True if a run with this verification has failed.
  bool is_wrong() const {
    return code == VerificationCode::kFail || code == VerificationCode::kExceptionRaised ||
           code == VerificationCode::kEagerFailed || code == VerificationCode::kVerifierDidntRun;
  }
};

// True if there is an eager variant to compare this variant with.
bool is_candidate(const Variant& variant);

// Makes the eager variant of the same benchmark.
Variant make_eager(const Variant& candidate);

enum class FailureKind {
  kCompileError,
  kDefinitionError,
  kCrashed,
  kAborted,
  kExited,
  kException,
  kTimedOut,
  kOutOfMemory,
  kWorkerLost,
  kNoProfile,
  kUnsupported,
};

const char* to_string(FailureKind kind);  // "compile_error", ..., as in the results file
std::optional<FailureKind> failure_kind_from(const std::string& name);

struct Failure {
  FailureKind kind = FailureKind::kWorkerLost;
  std::string message;
};

// A reason that torch.compile() gave for a graph break or a recompilation.
struct CompilerNote {
  std::string place;  // "layers.toml:12:3", or a place in a library; empty: not known
  std::string reason;
  std::uint64_t count = 1;  // times

  bool operator==(const CompilerNote&) const = default;
};

// A graph for which the backend `best` has chosen the fastest of several backends.
struct GraphChoice {
  std::string chosen;
  std::map<std::string, double> times = {};          // backend -> nanoseconds of a call
  std::map<std::string, std::string> failures = {};  // backend -> why it could not be chosen

  bool operator==(const GraphChoice&) const = default;
};

// A report of a compiler of whole functions (torch.compile()).
struct CompilerReport {
  std::vector<CompilerNote> graph_breaks = {};    // why there is more than one graph
  std::vector<CompilerNote> recompilations = {};  // the guards that failed
  // Operators that it left to LibTorch, by name, with their number.
  std::map<std::string, std::uint64_t> unlowered = {};
  // The counters of the compiler, by group and name.
  std::map<std::string, std::map<std::string, double>> counters = {};
  std::vector<GraphChoice> choices = {};  // the choices of `best`, in the order of compilation

  bool operator==(const CompilerReport&) const = default;
};

// The calls of a function by another, per iteration.
struct CallCost {
  std::size_t callee = 0;  // the index among the functions of the measurement
  double calls = 0;
  double ir = 0;  // instructions of the callee and the functions it called

  bool operator==(const CallCost&) const = default;
};

// A request of an iteration to CUDA's stand-ins.
struct DeviceEvent {
  std::string text;    // "launch stream=0 grid=1,1,1 ... NAME"
  std::string caller;  // LibTorch's operator that caused it, or the function; empty: unknown

  bool operator==(const DeviceEvent&) const = default;
};

// The self cost and the calls of a function, per iteration of the statement.
struct FunctionCost {
  std::string function;
  std::string object;  // file name of the shared object, without its folder
  double ir = 0;       // instructions, without those of functions it calls
  double calls = 0;
  // With simulated caches or branches: other events by Callgrind's names (Dr, D1mr, Bcm, ...); an
  // event that did not occur may be missing.
  std::map<std::string, double> events = {};
  std::vector<CallCost> callees = {};  // sorted by index; empty if the calls are not known

  bool operator==(const FunctionCost&) const = default;
};

// A function's name for what following the calls of an interpreter adds to them, which is not in
// the count: its cost is negative, so that all costs add up to the count.
inline constexpr const char* kFollowingCalls = "(following the calls)";

// Counts that may differ from run to run, so that no comparison fails on them.
inline constexpr const char* kWhyNotGated = "more than one thread: the count depends on scheduling";
inline bool is_gated(const Variant& variant) { return variant.threads == 1; }

// The values counted under Callgrind, or timed without it, or both.
struct Counted {
  // Metric name (core/definitions/metrics.h) -> value per iteration; instructions are net of
  // the empty loop, "peak_bytes" are the highest live bytes above those at the iteration's start.
  std::map<std::string, double> metrics;
  // Metrics of a results file with an invalid value, with the place and the reason.
  std::map<std::string, std::string> lost;
  std::uint64_t iterations = 0;  // iterations of each block
  std::uint64_t warmup = 0;      // iterations before the first block
  // The count is the same in two blocks and, in case of doubt, in another process.
  bool steady = false;
  // The statement leaks memory in each block, or allocates more in some blocks than in others.
  bool changes_state = false;
  bool reads_device = false;  // the statement copies data from CUDA's stand-ins
  // Instructions per iteration in two blocks: the last two, or the block that differs most from the
  // last, and the last; equal if steady.
  double first_block_instructions = 0;
  double second_block_instructions = 0;
  bool gated = true;                               // false: kWhyNotGated
  std::vector<FunctionCost> functions;             // sorted by cost, highest first
  std::shared_ptr<const CallTree> call_tree = {};  // set if call paths were counted separately
  std::shared_ptr<const LineCosts> lines = {};     // set if requested
  std::vector<DeviceEvent> device_events = {};     // the requests of an iteration, in order
  // If the calls of an interpreter were followed: its functions, the statement first.
  std::optional<std::vector<FollowedFunction>> followed = {};
  std::optional<fs::path> profile;  // set with --keep-profiles
  std::optional<Timing> timing;
  std::optional<CompilerReport> compiler = {};  // the report of a compiler of whole functions
  std::vector<OperatorTime> operators = {};     // times in one iteration, sorted by self time
  // The libraries and modules that were loaded when it was counted. Not in results files.
  std::vector<fs::path> files = {};

  // True if instructions were counted, whether or not the count is valid.
  bool has_count() const { return metrics.contains(kInstructions) || lost.contains(kInstructions); }

  // True if the count is of the first call in a process.
  bool is_first_call() const { return has_count() && warmup == 0 && iterations == 1; }
};

inline constexpr const char* kWhyMadeUp =
    "reads values back from the made-up device, where they are zeros";

// Describes a count that is not steady: "1,200, then 1,204".
std::string unsteady_counts(const Counted& counted);

struct Measurement;

// Makes a note if other processes disturbed the times: "busy machine: during 3 of 9 timings …";
// else returns "".
std::string busy_note(const std::vector<Measurement>& measurements);

struct Skipped {
  std::string reason;
};

// Fields of Measurement::depends_on: the model of the processor or, on CUDA, of the GPU; the
// iterations of a repetition, if requested, else 0; the limit that a result stayed within; that
// the files are not known; and the prefix of a file's field.
inline constexpr const char* kDeviceModel = "device_model";
inline constexpr const char* kIterationsField = "iterations";
inline constexpr const char* kTimeoutField = "timeout";
inline constexpr const char* kUnknownInputs = "unknown_inputs";
inline constexpr std::string_view kFilePrefix = "file ";

struct Measurement {
  Variant variant;
  std::variant<Counted, Skipped, Failure> outcome;
  double seconds = 0;  // wall time that measuring took
  // If the variant was verified. If it was only verified, the outcome has no metrics.
  std::optional<Verification> verification = {};
  // The files that the code includes or imports, with their hashes; nothing if they are not known.
  // Not in results files, but for those of an experiment, which are in `depends_on`.
  std::optional<std::map<std::string, std::string>> inputs = {};
  // Everything that an experiment's result depends on, by name (core/run/resume.h): it is
  // used again only while all of this is the same. Empty: not known.
  Fingerprint depends_on = {};
};

enum class MeasuredState { kMeasured, kFailed, kSkipped };

// Returns how measuring ended. What is unsupported was skipped.
MeasuredState state_of(const Measurement& measurement);

// Returns why there is no result, "crashed: ended by a signal: Segmentation fault"; else "".
std::string reason_of(const Measurement& measurement);

// Returns the code of its verification; kVerifierSkipped without one.
VerificationCode code_of(const Measurement& measurement);

// True if it could not be measured, or its result is wrong.
bool has_failed(const Measurement& measurement);

// Returns the times, or null.
const Timing* find_timing(const Measurement& measurement);

// Returns a metric of what was measured; nothing if it has no such value.
std::optional<double> find_metric_of(const Measurement& measurement, const std::string& metric);

// The name of the definition's file, without its ending.
std::string suite_of(const Variant& variant);

std::vector<Variant> variants_of(const std::vector<Measurement>& measurements);

// Selects measurements by their variants. If there are measurements and none is selected, returns
// the error of check_selection().
Expected<std::vector<Measurement>> select(std::vector<Measurement> measurements,
                                          const Selection& selection);

// Merges two measurements of a variant, of its counts, its times or its verification. The result
// has the parts of both, unless one of them is a failure.
Measurement merged(Measurement first, Measurement second);

// Collects the measurements of a run. Merges counts, times and verification of the same variant;
// two measurements of the same kind stay separate, unless what they depend on is recorded: then a
// run measured again what had changed or lacked a part, and the later one replaces the earlier.
class MeasurementList {
 public:
  void reserve(std::size_t count) { all_.reserve(count); }

  void add(Measurement measurement);
  const std::vector<Measurement>& all() const { return all_; }
  std::vector<Measurement> take() { return std::move(all_); }

 private:
  std::vector<Measurement> all_;
  std::map<std::string, std::size_t> places_;  // key -> index of the last measurement with it
};

}  // namespace instr
