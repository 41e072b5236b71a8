#include "core/values/call_graph.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace instr {

namespace {

struct Node {
  CodeName code;
  bool is_outermost = true;  // no other call of it was active
  bool is_around = false;    // it called the snippet, directly or not
};

// Marks what called the snippet: the worker, down to main().
void mark_around(std::vector<Node>& nodes, const Profile& profile) {
  std::vector<std::vector<std::size_t>> callers(nodes.size());
  for (const ProfileCalls& calls : profile.calls) callers[calls.callee].push_back(calls.caller);
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_snippet_symbol(profile.functions[i].function)) {
      left.insert(left.end(), callers[i].begin(), callers[i].end());
    }
  }
  while (!left.empty()) {
    const std::size_t one = left.back();
    left.pop_back();
    if (std::exchange(nodes[one].is_around, true)) continue;
    left.insert(left.end(), callers[one].begin(), callers[one].end());
  }
}

std::vector<Node> nodes_of(const Profile& profile) {
  std::vector<Node> nodes;
  for (const ProfileFunction& one : profile.functions) {
    const std::string object = std::filesystem::path(one.object).filename().string();
    nodes.push_back({code_name(one.function, object), !is_recursion(one.function)});
  }
  mark_around(nodes, profile);
  return nodes;
}

// The functions that have a cost, with their own part of it.
std::map<CodeName, InclusiveCost> self_costs(const Profile& profile, const std::vector<Node>& nodes,
                                             std::size_t event) {
  std::map<CodeName, InclusiveCost> costs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (!node.is_outermost || node.is_around || !node.code.has_symbol) continue;
    costs[node.code].ir += static_cast<double>(profile.functions[i].self[event]);
  }
  return costs;
}

// What the calls of one function by another add to what is known of both.
void add_calls(std::map<CodeName, InclusiveCost>& costs, const Node& caller, const Node& callee,
               double count, double ir) {
  // Parts of one function, both outermost, each have their own cost in the sum already.
  const bool is_within = caller.code == callee.code && callee.is_outermost;
  const auto by = costs.find(caller.code);
  if (by != costs.end() && caller.is_outermost && !caller.is_around && !is_within) {
    by->second.ir += ir;
  }
  const auto of = costs.find(callee.code);
  if (of == costs.end()) return;
  if (!callee.is_outermost && count > 0) of->second.is_recursive = true;
  if (!callee.is_outermost || callee.is_around || is_within || callee.code.is_snippet()) return;
  std::vector<Caller>& callers = of->second.callers;
  auto known = std::find_if(callers.begin(), callers.end(),
                            [&](const Caller& one) { return one.code == caller.code; });
  if (known == callers.end()) known = callers.insert(known, {caller.code});
  known->ir += ir;
  known->calls += count;
}

}  // namespace

std::map<CodeName, InclusiveCost> inclusive_costs(const Profile& profile,
                                                  std::uint64_t iterations) {
  const auto event = std::find(profile.events.begin(), profile.events.end(), "Ir");
  if (event == profile.events.end() || iterations == 0) return {};
  const auto ir = static_cast<std::size_t>(event - profile.events.begin());
  const std::vector<Node> nodes = nodes_of(profile);
  auto costs = self_costs(profile, nodes, ir);
  for (const ProfileCalls& calls : profile.calls) {
    add_calls(costs, nodes[calls.caller], nodes[calls.callee], static_cast<double>(calls.count),
              static_cast<double>(calls.cost[ir]));
  }
  const auto block = static_cast<double>(iterations);
  for (auto& [code, cost] : costs) {
    cost.ir /= block;
    for (Caller& caller : cost.callers) {
      caller.ir /= block;
      caller.calls /= block;
    }
    std::stable_sort(cost.callers.begin(), cost.callers.end(),
                     [](const Caller& left, const Caller& right) {
                       return left.ir != right.ir ? left.ir > right.ir : left.code < right.code;
                     });
  }
  return costs;
}

}  // namespace instr
