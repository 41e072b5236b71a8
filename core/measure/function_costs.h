// A block's profile as the costs of functions per iteration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile/profile.h"
#include "core/results/measurement.h"

namespace instr {

// Returns `total` without the part `around` the iterations, for each of them. It may be negative: a
// statement that the compiler removed costs a little less than the empty loop.
double per_iteration(std::uint64_t total, std::uint64_t around, std::uint64_t iterations);

// Returns the sum over all functions of a profile; 0 if it has no such event.
std::uint64_t sum_self_costs(const Profile& profile, std::string_view event);

// Returns self costs, for all events of the profile, and calls per iteration: one entry for each
// (function, object's file name), greatest cost first; functions without any self cost are left
// out.
std::vector<FunctionCost> function_costs(const Profile& profile, std::uint64_t iterations);

// Removes the empty loop from the function that runs it. `loop`: the instructions, `events`: the
// other costs of the empty loop, per iteration.
void subtract_loop(std::vector<FunctionCost>& functions, double loop,
                   const std::map<std::string, double>& events);

}  // namespace instr
