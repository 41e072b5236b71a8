// What the functions of an interpreter cost, as a worker noted them while it followed their calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile/call_graph.h"

namespace instr {

// Instructions and calls per iteration. A function costs itself what it runs, with all that it
// calls natively; the object is its place: "torch/nn/modules/linear.py:130".
struct FollowedFunction {
  CodeName code;
  double self = 0;
  double calls = 0;
  InclusiveCost cost;
};

// `text`: followed_calls() of worker/torch_side.h, of a block of so many iterations. `loop`: the
// instructions of the empty loop, per iteration, which are not the statement's. `place`: where code
// of that file and line is from. The statement comes first; nothing if there were too many calls,
// or if the text is malformed.
std::vector<FollowedFunction> followed_calls(
    std::string_view text, std::uint64_t iterations, double loop,
    const std::function<std::string(const std::string& file, int line)>& place);

}  // namespace instr
