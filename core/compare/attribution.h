// The functions in which a metric changed: the self costs of two profiles of one variant, side
// by side. All figures are in the metric's unit, or calls, per iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/definitions/metrics.h"
#include "core/results/measurement.h"

namespace instr {

enum class FunctionState { kMoved, kNew, kGone };

struct FunctionChange {
  std::string function;  // whole, demangled; "the snippet"; "libx.so: code without symbols"
  std::string object;    // "libtorch_cpu.so", without its version; "" if unknown
  // If the function was in another library before: an inline function is in each library that uses
  // it, and the first one loaded is used. Else empty.
  std::string object_before;
  FunctionState state = FunctionState::kMoved;
  bool has_symbol = true;  // false: all code of `object` that has no symbols, together
  bool same_name = true;   // false: matched by name alone, the parameter types differ
  double before = 0;
  double after = 0;
  double change = 0;  // after - before
  double calls_before = 0;
  double calls_after = 0;
};

// A function that calls another one more or less often than before, or whose own code changed.
struct CallChange {
  std::string caller;  // as FunctionChange::function
  std::string callee;  // empty: the caller's own code
  double calls_before = 0;
  double calls_after = 0;
  double change = 0;  // with all that the calls caused
};

// The parts, the rest of the functions, and the unexplained rest: together exactly `difference`,
// since all figures are rounded to one fixed step (2^-20 of an instruction or, for larger sums, the
// smallest that keeps them exact).
struct Attribution {
  std::string metric = kInstructions;
  double difference = 0;
  std::vector<FunctionChange> parts;  // greatest change first
  std::size_t others = 0;             // functions that changed and are not among the parts
  double others_change = 0;
  double unexplained = 0;  // the metric's difference minus that of all functions of both profiles
  // The calls that changed (call_moves()), if the metric is instructions and both profiles have
  // calls.
  std::vector<CallChange> calls = {};
};

// Whether profiles have `metric` by function: "instructions" and, if both were simulated, the
// metrics of caches and branches.
bool is_attributable(const std::string& metric, const std::vector<FunctionCost>& before,
                     const std::vector<FunctionCost>& after);

struct AttributionOptions {
  std::size_t max_parts = 10;
  std::size_t max_calls = 5;

  static AttributionOptions all() { return {SIZE_MAX, SIZE_MAX}; }
};

// Attributes the changes of many variants: its analysis of a name is kept for the next ones.
class Attributor {
 public:
  explicit Attributor(AttributionOptions options = {});
  ~Attributor();
  Attributor(const Attributor&) = delete;
  Attributor& operator=(const Attributor&) = delete;

  // `before`, `after`: the functions of both profiles. `difference`: of the metric. If one of
  // the profiles is empty, all of it is `unexplained`. Functions that did not change are left out.
  Attribution attribute(const std::vector<FunctionCost>& before,
                        const std::vector<FunctionCost>& after, double difference,
                        const std::string& metric = kInstructions);

 private:
  class Names;
  AttributionOptions options_;
  std::unique_ptr<Names> names_;
};

}  // namespace instr
