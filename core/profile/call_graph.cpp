#include "core/profile/call_graph.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/base/read_file.h"

namespace instr {

namespace {

struct Node {
  CodeName code;
  bool is_outermost = true;  // no other call of it was active
  bool is_around = false;    // it called the snippet, directly or not
};

// Marks the functions that called the snippet: the worker, down to main().
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
    const std::size_t node = left.back();
    left.pop_back();
    if (std::exchange(nodes[node].is_around, true)) continue;
    left.insert(left.end(), callers[node].begin(), callers[node].end());
  }
}

std::vector<Node> make_nodes(const Profile& profile) {
  std::vector<Node> nodes;
  for (const ProfileFunction& function : profile.functions) {
    nodes.push_back(
        {code_name(function.function, function.library()), !is_recursion(function.function)});
  }
  mark_around(nodes, profile);
  return nodes;
}

// Returns the self costs of functions, to which calls are added.
std::map<CodeName, InclusiveCost> self_costs(const Profile& profile, const std::vector<Node>& nodes,
                                             std::size_t event) {
  std::map<CodeName, InclusiveCost> costs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (!node.is_outermost || node.is_around) continue;
    InclusiveCost& cost = costs[node.code];
    if (!node.code.has_symbol) continue;
    cost.ir = cost.ir.value_or(0) + static_cast<double>(profile.functions[i].self[event]);
  }
  return costs;
}

// Returns true if no other call of the callee was active that is counted.
bool are_outermost(const Node& caller, const Node& callee) {
  if (callee.is_around || callee.code.is_snippet() || caller.code == callee.code) return false;
  if (callee.code.has_symbol) return callee.is_outermost;
  return caller.is_outermost && caller.code.has_symbol && !caller.is_around;
}

void add_caller(std::vector<Caller>& callers, const CodeName& code, double count, double ir) {
  auto known = std::find_if(callers.begin(), callers.end(),
                            [&code](const Caller& caller) { return caller.code == code; });
  if (known == callers.end()) known = callers.insert(known, {code});
  known->ir += ir;
  known->calls += count;
}

// Adds the calls of a function by another to the costs of both.
void add_calls(std::map<CodeName, InclusiveCost>& costs, const Node& caller, const Node& callee,
               double count, double ir) {
  // The sum contains the self costs of all parts of a function.
  const bool is_within = caller.code == callee.code && callee.is_outermost;
  const auto by = costs.find(caller.code);
  if (by != costs.end() && by->second.ir && caller.is_outermost && !caller.is_around &&
      !is_within) {
    *by->second.ir += ir;
  }
  const auto of = costs.find(callee.code);
  if (of == costs.end()) return;
  const bool is_recursion = callee.code.has_symbol && !callee.is_outermost && count > 0;
  if (is_recursion) of->second.is_recursive = true;
  if (are_outermost(caller, callee)) add_caller(of->second.callers, caller.code, count, ir);
}

}  // namespace

std::map<CodeName, InclusiveCost> inclusive_costs(const Profile& profile,
                                                  std::uint64_t iterations) {
  const auto ir = profile.find_event("Ir");
  if (!ir || iterations == 0) return {};
  const std::vector<Node> nodes = make_nodes(profile);
  auto costs = self_costs(profile, nodes, *ir);
  for (const ProfileCalls& calls : profile.calls) {
    add_calls(costs, nodes[calls.caller], nodes[calls.callee], static_cast<double>(calls.count),
              static_cast<double>(calls.cost[*ir]));
  }
  const auto block = static_cast<double>(iterations);
  for (auto& [code, cost] : costs) {
    if (cost.ir) *cost.ir /= block;
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

namespace {

using Json = nlohmann::ordered_json;
using Place = std::function<std::string(const std::string&, int)>;

CodeName parse_code(const Json& code, const Place& place) {
  if (code.is_null()) return {kSnippetName, ""};
  return {code.at("name"), place(code.at("file"), code.at("line"))};
}

std::vector<FollowedFunction> read(const Json& json, double iterations, double loop,
                                   const Place& place) {
  std::vector<FollowedFunction> functions;
  for (const Json& function : json.at("functions")) {
    const auto per_iteration = [&](const char* name) {
      return function.at(name).get<double>() / iterations;
    };
    const bool is_statement = functions.empty();
    const double around = is_statement ? loop : 0;
    functions.push_back({parse_code(function.at("code"), place),
                         per_iteration("self") - around,
                         per_iteration("calls"),
                         {per_iteration("inclusive") - around, function.at("recursive"), {}}});
  }
  for (const Json& call : json.at("calls")) {
    const auto [caller, callee, ir, calls] =
        call.get<std::tuple<std::size_t, std::size_t, double, double>>();
    if (caller == callee) continue;  // a recursive function is not its own caller
    functions.at(callee).cost.callers.push_back(
        {functions.at(caller).code, ir / iterations, calls / iterations});
  }
  for (FollowedFunction& function : functions) {
    auto& callers = function.cost.callers;
    std::stable_sort(callers.begin(), callers.end(),
                     [](const Caller& left, const Caller& right) { return left.ir > right.ir; });
  }
  return functions;
}

}  // namespace

std::vector<FollowedFunction> followed_calls(std::string_view text, std::uint64_t iterations,
                                             double loop, const Place& place) {
  const auto json = parse_json(text);
  if (!json || !json->is_object() || iterations == 0) return {};
  try {
    return read(*json, static_cast<double>(iterations), loop, place);
  } catch (const std::exception&) {  // thrown by Json, or for an unknown function
    return {};
  }
}

}  // namespace instr
