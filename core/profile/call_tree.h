// What each path of calls costs: a profile whose paths are separate, as a tree. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/profile/function_names.h"
#include "core/profile/profile.h"

namespace instr {

struct CallNode {
  std::size_t function = 0;  // in CallTree::functions
  std::size_t parent = 0;    // in CallTree::nodes; the root's is itself
  std::int64_t self = 0;     // instructions of the whole block
  std::int64_t total = 0;    // with all that it called
  std::uint64_t calls = 0;
};

// So that no sum of two trees overflows: of a block, which takes hours beyond that.
inline constexpr std::uint64_t kMaxTreeIterations = std::uint64_t{1} << 24;

// Whole numbers, so that all sums are exact. The first node is the root: the statement, whose total
// is the count. Parents come before their children.
struct CallTree {
  std::uint64_t iterations = 1;
  std::vector<CodeName> functions;  // each once
  std::vector<CallNode> nodes;
  // Where each function begins, "quick.cpp:14"; "", or no such entry, where that is not known.
  std::vector<std::string> places = {};

  const CodeName& code_of(const CallNode& node) const { return functions[node.function]; }

  std::string place_of(std::size_t function) const {
    return function < places.size() ? places[function] : "";
  }

  double per_iteration(std::int64_t cost) const {
    return static_cast<double>(cost) / static_cast<double>(iterations);
  }
};

// Sets the totals from the self costs.
void sum_up(std::vector<CallNode>& nodes);

// `net`: the count, in instructions per iteration, which is less than the block holds by its empty
// loop. Code without symbols is one function for each library, as in all reports. In depth-first
// order: each node is followed by all below it, the most expensive child first.
CallTree call_tree(const Profile& profile, std::uint64_t iterations, double net);

// Two trees with the same functions, the same nodes, by their paths, and the same iterations, so
// that they can be subtracted: a path that only one has costs nothing in the other.
struct AlignedTrees {
  CallTree before;
  CallTree after;
};

AlignedTrees aligned(const CallTree& before, const CallTree& after);

}  // namespace instr
