// Which calls changed between two profiles of one variant: what a developer looks for first.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

namespace instr {

// A function of one profile; figures per iteration. Functions have the same number in both.
struct CallingFunction {
  struct Edge {
    double calls = 0;
    double ir = 0;  // of the callee, with all that it called
  };
  double self = 0;     // instructions
  double calls = 0;    // of it; 0: not known
  bool is_one = true;  // false: all code of a library that has no symbols, together
  std::unordered_map<std::size_t, Edge> callees = {};
};

using CallingFunctions = std::unordered_map<std::size_t, CallingFunction>;

struct CallMove {
  std::size_t caller = 0;
  std::optional<std::size_t> callee;  // nothing: the caller's own code changed
  double calls_before = 0;
  double calls_after = 0;
  double change = 0;  // of the instructions of these calls, with all that they called
};

// In which functions that both profiles have something changed by itself: they call another one
// that they did not call, no longer call it or call it more or less often, or their own code costs
// more or less. The greatest change first. What happens in a function that is called for the first
// time is in the cost of that call. The changes of nested calls overlap, so they do not add up.
//
// First those that are called as often as before. If these do not explain half of the difference,
// also others, by what each call costs, and at last code without symbols: what they do depends on
// where they are called from.
std::vector<CallMove> call_moves(const CallingFunctions& before, const CallingFunctions& after);

}  // namespace instr
