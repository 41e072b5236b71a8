// What measuring a variant gave: a value that says which of the possible outcomes it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/variant.h"

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

// What one function costs itself and how often it is called, for each iteration of the statement.
struct FunctionCost {
  std::string function;
  std::string object;  // file name of the shared object, without its folder
  double ir = 0;       // instructions, without those of what it calls
  double calls = 0;

  bool operator==(const FunctionCost&) const = default;
};

struct Counted {
  // Metric name -> value for each iteration, net of the empty loop: "ir" (instructions), "allocs",
  // "alloc_bytes", "peak_bytes" (highest live bytes above those at the iteration's start).
  std::map<std::string, double> metrics;
  std::uint64_t iterations = 0;  // of each block
  std::uint64_t warmup = 0;      // iterations before the first block
  bool steady = false;           // the last two blocks have exactly equal counts
  // The last two blocks, instructions for each iteration; equal where steady.
  double first_block_ir = 0;
  double second_block_ir = 0;
  bool gated = true;  // false for more than one thread: then counts depend on scheduling
  std::vector<FunctionCost> functions;  // sorted by cost, highest first
  std::optional<std::filesystem::path> profile;  // where --keep-profiles put it
};

struct Skipped {
  std::string reason;
};

struct Measurement {
  Variant variant;
  std::variant<Counted, Skipped, Failure> outcome;
  double seconds = 0;  // wall time that measuring took
};

}  // namespace instr
