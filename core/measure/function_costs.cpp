#include "core/measure/function_costs.h"

#include <algorithm>
#include <utility>

#include "core/profile/function_names.h"

namespace instr {

namespace {

using FunctionName = std::pair<std::string, std::string>;  // function and object

FunctionName make_name(const ProfileFunction& function) {
  return {without_hashes(function.function), function.library()};
}

// Adds the calls among these functions. `names`: of the profile's functions.
void add_callees(std::vector<FunctionCost>& functions, const Profile& profile,
                 const std::vector<FunctionName>& names, std::size_t event,
                 std::uint64_t iterations) {
  std::map<FunctionName, std::size_t> places;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    places[{functions[i].function, functions[i].object}] = i;
  }
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const ProfileCalls& calls : profile.calls) {
    const auto caller = places.find(names[calls.caller]);
    const auto callee = places.find(names[calls.callee]);
    if (caller == places.end() || callee == places.end()) continue;
    auto& [count, cost] = sums[{caller->second, callee->second}];
    count += calls.count;
    cost += calls.cost[event];
  }
  for (const auto& [pair, sum] : sums) {
    functions[pair.first].callees.push_back({pair.second, per_iteration(sum.first, 0, iterations),
                                             per_iteration(sum.second, 0, iterations)});
  }
}

}  // namespace

double per_iteration(std::uint64_t total, std::uint64_t around, std::uint64_t iterations) {
  auto net = static_cast<std::int64_t>(total) - static_cast<std::int64_t>(around);
  return static_cast<double>(net) / static_cast<double>(iterations);
}

std::uint64_t sum_self_costs(const Profile& profile, std::string_view event) {
  const auto index = profile.find_event(event);
  std::uint64_t sum = 0;
  if (!index) return sum;
  for (const auto& function : profile.functions) sum += function.self[*index];
  return sum;
}

std::vector<FunctionCost> function_costs(const Profile& profile, std::uint64_t iterations) {
  const auto ir = profile.find_event("Ir");
  if (!ir || iterations == 0) return {};
  struct Totals {
    std::vector<std::uint64_t> self;
    std::uint64_t calls = 0;
  };
  std::map<FunctionName, Totals> totals;
  std::vector<FunctionName> names;
  for (const auto& function : profile.functions) {
    Totals& sum = totals[names.emplace_back(make_name(function))];
    sum.self.resize(profile.events.size());
    for (std::size_t i = 0; i < sum.self.size(); ++i) sum.self[i] += function.self[i];
    sum.calls += function.calls;
  }
  std::vector<FunctionCost> costs;
  for (const auto& [name, sum] : totals) {
    if (sum.self[*ir] == 0) continue;
    FunctionCost& cost = costs.emplace_back(
        FunctionCost{name.first, name.second, per_iteration(sum.self[*ir], 0, iterations),
                     per_iteration(sum.calls, 0, iterations)});
    for (std::size_t i = 0; i < sum.self.size(); ++i) {
      if (i == *ir || sum.self[i] == 0) continue;
      cost.events[profile.events[i]] = per_iteration(sum.self[i], 0, iterations);
    }
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& left, const auto& right) { return left.ir > right.ir; });
  add_callees(costs, profile, names, *ir, iterations);
  return costs;
}

void subtract_loop(std::vector<FunctionCost>& functions, double loop,
                   const std::map<std::string, double>& events) {
  for (auto& function : functions) {
    if (!runs_loop(function.function)) continue;
    function.ir -= loop;
    for (auto& [name, count] : function.events) {
      if (auto event = events.find(name); event != events.end()) count -= event->second;
    }
    if (is_snippet_symbol(function.function)) function.calls = 0;
    return;
  }
}

}  // namespace instr
