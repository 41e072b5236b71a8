// Finds the calls that changed between two profiles of a variant: a developer asks for these first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/definitions/metrics.h"
#include "core/results/measurement.h"

namespace instr {

// A function of one profile; figures per iteration. Functions have the same number in both.
struct CallingFunction {
  struct Edge {
    double calls = 0;
    double ir = 0;  // the callee's instructions, including all that it called
  };
  double self = 0;         // instructions
  double calls = 0;        // the number of calls of it; 0: not known
  bool has_symbol = true;  // false: all code of a library that has no symbols, together
  std::unordered_map<std::size_t, Edge> callees = {};
};

using CallingFunctions = std::unordered_map<std::size_t, CallingFunction>;

struct CallMove {
  std::size_t caller = 0;
  std::optional<std::size_t> callee;  // nothing: the caller's own code changed
  double calls_before = 0;
  double calls_after = 0;
  double change = 0;  // instructions of these calls, including all that they called
};

// Returns the changes, greatest first, in functions that both profiles have: a function calls
// another one for the first time, no longer, or more or less often, or its own code costs more or
// less. The changes inside a function that is called for the first time are part of the cost of
// that call. The changes of nested calls overlap, so they do not add up.
//
// Functions that are called as often as before come first. If they explain less than half of the
// difference, other functions are searched, by their cost per call, and at last code without
// symbols: how such code behaves depends on its callers.
std::vector<CallMove> find_call_moves(const CallingFunctions& before,
                                      const CallingFunctions& after);

// Finds the functions in which a metric changed, by the self costs of two profiles of a variant.
// All figures are calls or in the unit of the metric, per iteration.

enum class FunctionState { kMoved, kNew, kGone };

struct FunctionChange {
  std::string function;  // the full name, demangled; "the snippet"; "libx.so: code without symbols"
  std::string object;    // "libtorch_cpu.so", without its version; "" if unknown
  // Set if the function was in another library before: each library that uses an inline function
  // contains it, and that of the library loaded first is called.
  std::string object_before;
  FunctionState state = FunctionState::kMoved;
  bool has_symbol = true;  // false: all code of `object` that has no symbols, together
  bool same_name = true;   // false: the parameter types differ
  double before = 0;
  double after = 0;
  double change = 0;  // `after` - `before`
  double calls_before = 0;
  double calls_after = 0;
};

// A function that calls another one more or less often than before, or whose own code changed.
struct CallChange {
  std::string caller;  // named like FunctionChange::function
  std::string callee;  // empty: the caller's own code
  double calls_before = 0;
  double calls_after = 0;
  double change = 0;  // including all that the calls caused
};

// A request to CUDA's stand-ins that is made more or less often than before.
struct DeviceChange {
  DeviceEvent event;
  int change = 0;  // requests more per iteration
};

// Returns the requests of which there are more, then those of which there are fewer, both in their
// order.
std::vector<DeviceChange> find_device_changes(const std::vector<DeviceEvent>& before,
                                              const std::vector<DeviceEvent>& after);

// A change as the sum of its parts, the other functions and an unexplained rest. The sum is exact,
// since all figures are rounded to a fixed step: 2^-20 of an instruction or, for larger sums, the
// smallest step that keeps them exact.
struct Attribution {
  std::string metric = kInstructions;
  double difference = 0;
  std::vector<FunctionChange> parts;  // greatest change first
  std::size_t others = 0;             // functions that changed and are not among the parts
  double others_change = 0;
  double unexplained = 0;  // the metric's difference minus that of all functions of both profiles
  // The calls that changed, greatest change first, if the metric is instructions and both profiles
  // have calls.
  std::vector<CallChange> calls = {};
  std::vector<DeviceChange> device = {};  // empty unless CUDA's host side was counted
};

// True if both profiles have `metric` by the same kind of functions, native or of Python: always
// instructions, and the metrics of caches and branches if both were simulated.
bool is_attributable(const std::string& metric, const std::vector<FunctionCost>& before,
                     const std::vector<FunctionCost>& after);

struct AttributionOptions {
  std::size_t max_parts = 10;
  std::size_t max_calls = 5;

  static AttributionOptions all() { return {SIZE_MAX, SIZE_MAX}; }
};

// Attributes the changes of many variants, and analyses each name once.
class Attributor {
 public:
  explicit Attributor(AttributionOptions options = {});
  ~Attributor();
  Attributor(const Attributor&) = delete;
  Attributor& operator=(const Attributor&) = delete;

  // `before`, `after`: the functions of both profiles. `difference`: of the metric; it is all
  // unexplained if a profile is empty. Functions that did not change are left out.
  Attribution attribute(const std::vector<FunctionCost>& before,
                        const std::vector<FunctionCost>& after, double difference,
                        const std::string& metric = kInstructions);

 private:
  class Names;
  AttributionOptions options_;
  std::unique_ptr<Names> names_;
};

}  // namespace instr
