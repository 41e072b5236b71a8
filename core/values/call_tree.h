// What each path of calls costs: a profile whose paths are separate, as a tree. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/function_names.h"
#include "core/values/profile.h"

namespace instr {

struct CallNode {
  CodeName code;
  std::size_t parent = 0;  // in CallTree::nodes; the root's is itself
  std::int64_t self = 0;   // instructions of the whole block
  std::int64_t total = 0;  // with all that it called
  std::uint64_t calls = 0;
};

// Whole numbers, so that all sums are exact. The first node is the root: the statement, whose total
// is the count. Parents come before their children; of one parent, the most expensive comes first.
struct CallTree {
  std::uint64_t iterations = 1;
  std::vector<CallNode> nodes;

  double per_iteration(std::int64_t cost) const {
    return static_cast<double>(cost) / static_cast<double>(iterations);
  }
};

// `net`: the count, in instructions per iteration, which is less than the block holds by its empty
// loop. Code without symbols is one function for each library, as in all reports.
CallTree call_tree(const Profile& profile, std::uint64_t iterations, double net);

}  // namespace instr
