// Costs of an interpreter's functions, as recorded by a worker that followed their calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile/call_graph.h"

namespace instr {

// Instructions and calls per iteration.
struct FollowedFunction {
  CodeName code;    // the object is a place: "torch/nn/modules/linear.py:130"
  double self = 0;  // includes all native calls
  double calls = 0;
  InclusiveCost cost;
};

// Parses followed_calls() of worker/torch_side.h, of a block of `iterations`. `loop`: the
// instructions of the empty loop, per iteration, which are subtracted. `place`: returns the place
// of a line of generated code. The statement comes first; empty if there were too many calls, or if
// the text is malformed.
std::vector<FollowedFunction> followed_calls(
    std::string_view text, std::uint64_t iterations, double loop,
    const std::function<std::string(const std::string& file, int line)>& place);

}  // namespace instr
