// The parts of a call of a compiled function, by the functions of PyTorch that do each.
#pragma once

#include <string>
#include <vector>

#include "core/report/explain.h"

namespace instr {

struct CallPart {
  std::string name;
  double ir = 0;  // instructions per iteration

  bool operator==(const CallPart&) const = default;
};

// Returns parts that add up to the count: guards, the search for the compiled code, that code with
// its kernels, backward(), and the rest. None if no compiled function was called, if calls are not
// known, or if compiled functions call each other, so that the parts overlap.
std::vector<CallPart> parts_of_compiled_call(const Explanation& explanation);

}  // namespace instr
