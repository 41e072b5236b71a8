// Inclusive costs and callers of functions, by a profile's calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile/function_names.h"
#include "core/profile/profile.h"

namespace instr {

struct Caller {
  CodeName code;
  double ir = 0;  // instructions per iteration of its calls, with all that they called
  double calls = 0;
};

struct InclusiveCost {
  std::optional<double> ir;  // instructions per iteration; absent if unknown
  bool is_recursive = false;
  std::vector<Caller> callers;  // highest cost first
};

// Returns the costs in a block of `iterations`, without the functions that called the
// snippet. The snippet, whose loop is included, has no callers.
//
// A recursive function costs what its outermost calls cost, and is not its own caller. Functions
// without symbols cannot be distinguished, so calls between them, and their inclusive cost, are
// unknown. The costs of their callers may overlap.
std::map<CodeName, InclusiveCost> inclusive_costs(const Profile& profile, std::uint64_t iterations);

// Costs of an interpreter's functions, as recorded by a worker that followed their calls.

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
