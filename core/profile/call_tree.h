// The costs of each path of calls: a profile whose paths are separate, as a tree. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/profile/function_names.h"
#include "core/profile/profile.h"

namespace instr {

struct CallNode {
  std::size_t function = 0;  // index into CallTree::functions
  std::size_t parent = 0;    // index into CallTree::nodes; the root is its own parent
  std::int64_t self = 0;     // instructions of the whole block
  std::int64_t total = 0;    // `self`, and the instructions of all that it called
  std::uint64_t calls = 0;
};

// Prevents overflow in sums of two trees; a block of this length takes hours.
inline constexpr std::uint64_t kMaxTreeIterations = std::uint64_t{1} << 24;

// Costs are whole numbers, so that all sums are exact. The first node is the root: the statement,
// whose total is the count. Parents come before their children.
struct CallTree {
  std::uint64_t iterations = 1;
  std::vector<CodeName> functions;  // each once
  std::vector<CallNode> nodes;
  // The begin of each function, "quick.cpp:14"; "" or no entry if unknown.
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

// Makes the tree of a block, depth first, with the most expensive child of a node first. `net`: the
// count, in instructions per iteration, without the empty loop. Code without symbols is one
// function for each library, as in all reports.
CallTree call_tree(const Profile& profile, std::uint64_t iterations, double net);

// Two trees with the same functions, nodes (by their paths) and iterations, so that they can be
// subtracted: a path that a tree lacks costs 0 there.
struct AlignedTrees {
  CallTree before;
  CallTree after;
};

AlignedTrees aligned(const CallTree& before, const CallTree& after);

}  // namespace instr
