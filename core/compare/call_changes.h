// Finds the calls that changed between two profiles of a variant: a developer asks for these first.
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

}  // namespace instr
