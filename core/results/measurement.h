// The result of measuring a variant: one of the possible outcomes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/definitions/metrics.h"
#include "core/definitions/select.h"
#include "core/definitions/variant.h"
#include "core/profile/call_tree.h"
#include "core/profile/followed_calls.h"
#include "core/profile/line_costs.h"
#include "core/results/operator_times.h"
#include "core/results/timing.h"
#include "core/results/verification.h"

namespace instr {

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

// A reason that torch.compile() gave for a graph break or a recompilation, with its place.
struct CompilerNote {
  std::string place;  // "layers.toml:12:3", or of a library; empty: not known
  std::string reason;
  std::uint64_t count = 1;  // times

  bool operator==(const CompilerNote&) const = default;
};

// What a compiler of whole functions (torch.compile()) said of its work.
struct CompilerReport {
  std::vector<CompilerNote> graph_breaks = {};    // why there is more than one graph
  std::vector<CompilerNote> recompilations = {};  // which guard failed
  // Operators that it left to LibTorch, by name, and how many or how often.
  std::map<std::string, std::uint64_t> unlowered = {};
  // All of its counters, by group and name.
  std::map<std::string, std::map<std::string, double>> counters = {};

  bool operator==(const CompilerReport&) const = default;
};

// All calls of one function by another, per iteration.
struct CallCost {
  std::size_t callee = 0;  // its place among the functions of the measurement
  double calls = 0;
  double ir = 0;  // instructions of the callee, with all that it called

  bool operator==(const CallCost&) const = default;
};

// What one function costs itself and how often it is called, per iteration of the statement.
struct FunctionCost {
  std::string function;
  std::string object;  // file name of the shared object, without its folder
  double ir = 0;       // instructions, without those of what it calls
  double calls = 0;
  // If caches or branches were simulated: what else it cost, by Callgrind's names of the events
  // (Dr, D1mr, Bcm, ...); those that are 0 may be missing.
  std::map<std::string, double> events = {};
  std::vector<CallCost> callees = {};  // by place; none where the calls are not known

  bool operator==(const FunctionCost&) const = default;
};

// Counts that may differ from run to run, so that no comparison fails on them.
inline constexpr const char* kWhyNotGated =
    "more than one thread or torch.compile(): the count depends on scheduling or compiling";

// The values counted under Callgrind, or timed without it, or both.
struct Counted {
  // Metric name (core/definitions/metrics.h) -> value per iteration; instructions are net of
  // the empty loop, "peak_bytes" are the highest live bytes above those at the iteration's start.
  std::map<std::string, double> metrics;
  // Of a results file: metrics that it should have but whose value is invalid, with the place and
  // the reason.
  std::map<std::string, std::string> lost;
  std::uint64_t iterations = 0;  // of each block
  std::uint64_t warmup = 0;      // iterations before the first block
  // The count comes out again: from block to block and, if there was anything to doubt, in another
  // process.
  bool steady = false;
  // The statement leaves memory behind in each block, or allocates more in some than in others.
  bool changes_state = false;
  // Instructions per iteration in two blocks: the last two, or the last one and the one that
  // differs most from it; equal if steady.
  double first_block_instructions = 0;
  double second_block_instructions = 0;
  bool gated = true;                    // false: kWhyNotGated
  std::vector<FunctionCost> functions;  // sorted by cost, highest first
  // If each path of calls was counted by itself.
  std::shared_ptr<const CallTree> call_tree = {};
  std::shared_ptr<const LineCosts> lines = {};  // if they were asked for
  // If the calls of an interpreter were followed: its functions, the statement first.
  std::optional<std::vector<FollowedFunction>> followed = {};
  std::optional<std::filesystem::path> profile;  // with --keep-profiles
  std::optional<Timing> timing;
  // Of an experiment.
  std::optional<CompilerReport> compiler = {};
  std::vector<OperatorTime> operators = {};  // one iteration's, the greatest self time first

  // Whether instructions were counted, readable or not.
  bool has_count() const { return metrics.contains(kInstructions) || lost.contains(kInstructions); }
};

// "1,200, then 1,204", of a count that is not steady.
std::string unsteady_counts(const Counted& counted);

struct Measurement;

// A note that other processes disturbed the times: "busy machine: during 3 of 9 timings …"; empty
// if none did.
std::string busy_note(const std::vector<Measurement>& measurements);

struct Skipped {
  std::string reason;
};

struct Measurement {
  Variant variant;
  std::variant<Counted, Skipped, Failure> outcome;
  double seconds = 0;  // wall time that measuring took
  // If the variant was verified. If it was only verified, the outcome has no metrics.
  std::optional<Verification> verification = {};
};

std::vector<Variant> variants_of(const std::vector<Measurement>& measurements);

// Those of selected variants. If there are measurements and none is selected, the error of
// check_selection().
Expected<std::vector<Measurement>> select(std::vector<Measurement> measurements,
                                          const Selection& selection);

// Two measurements of one variant, of its counts, its times or its verification, combined into one:
// the parts of either are kept, but a failure of one is the variant's.
Measurement merged(Measurement first, Measurement second);

// Adds another measurement of a run: merged with that of the variant's counts if it has the
// variant's times or verification. Two of a kind stay two.
class MeasurementList {
 public:
  // Makes room for `count` measurements.
  void reserve(std::size_t count) { all_.reserve(count); }

  void add(Measurement one);
  const std::vector<Measurement>& all() const { return all_; }
  std::vector<Measurement> take() { return std::move(all_); }

 private:
  std::vector<Measurement> all_;
  std::map<std::string, std::size_t> places_;  // of the last one with that key
};

}  // namespace instr
