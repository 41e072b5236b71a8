#include "core/compare/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/profile/function_names.h"
#include "core/results/simulation.h"

namespace instr {

namespace {

constexpr double kMinChange = 1e-6;  // smaller changes are rounding errors

// How likely it is that a difference in a function is due to the function itself.
enum class Certainty {
  kCalledAsOften,
  kCalledMoreOrLess,  // new callers may make it behave differently
  kWithoutSymbols,    // many functions together
};

Certainty judge_certainty(const CallingFunction& before, const CallingFunction& after) {
  if (!before.has_symbol) return Certainty::kWithoutSymbols;
  return before.calls == after.calls ? Certainty::kCalledAsOften : Certainty::kCalledMoreOrLess;
}

class CallSearch {
 public:
  CallSearch(const CallingFunctions& before, const CallingFunctions& after)
      : before_(before), after_(after) {}

  std::vector<CallMove> run() {
    const double whole = std::fabs(sum_self(after_) - sum_self(before_));
    for (const Certainty certainty :
         {Certainty::kCalledAsOften, Certainty::kCalledMoreOrLess, Certainty::kWithoutSymbols}) {
      if (explained_ < whole / 2 || moves_.empty()) search(certainty);
    }
    std::sort(moves_.begin(), moves_.end(), [](const CallMove& left, const CallMove& right) {
      const double left_size = std::fabs(left.change);
      const double right_size = std::fabs(right.change);
      if (left_size != right_size) return left_size > right_size;
      return std::pair(left.caller, left.callee) < std::pair(right.caller, right.callee);
    });
    return std::move(moves_);
  }

 private:
  static double sum_self(const CallingFunctions& functions) {
    double sum = 0;
    for (const auto& [number, function] : functions) sum += function.self;
    return sum;
  }

  void search(Certainty certainty) {
    for (const auto& [number, before] : before_) {
      const auto after = after_.find(number);
      if (after == after_.end() || judge_certainty(before, after->second) != certainty) continue;
      compare(number, before, after->second);
    }
  }

  void compare(std::size_t number, const CallingFunction& before, const CallingFunction& after) {
    const bool is_ratio_known = before.has_symbol && before.calls > 0 && after.calls > 0;
    const double ratio = is_ratio_known ? after.calls / before.calls : 1;
    const auto add = [&](std::optional<std::size_t> callee, double calls_before, double calls_after,
                         double change) {
      if (std::fabs(change) < kMinChange) return;
      moves_.push_back({number, callee, calls_before, calls_after, change});
      explained_ += std::fabs(change);
    };
    add(std::nullopt, before.calls, after.calls, after.self - ratio * before.self);
    const auto compare_edges = [&](std::size_t callee, const CallingFunction::Edge& old,
                                   const CallingFunction::Edge& now) {
      // The cost changed inside the callee if the number of calls did not change.
      if (std::fabs(now.calls - ratio * old.calls) < kMinChange) return;
      add(callee, old.calls, now.calls, now.ir - ratio * old.ir);
    };
    for (const auto& [callee, old] : before.callees) {
      const auto now = after.callees.find(callee);
      compare_edges(callee, old,
                    now == after.callees.end() ? CallingFunction::Edge{} : now->second);
    }
    for (const auto& [callee, now] : after.callees) {
      if (!before.callees.contains(callee)) compare_edges(callee, {}, now);
    }
  }

  const CallingFunctions& before_;
  const CallingFunctions& after_;
  std::vector<CallMove> moves_;
  double explained_ = 0;
};

// Rounds so that all sums of the values are exact in a double.
class Rounding {
 public:
  // `magnitude`: a finite upper bound of the sums.
  explicit Rounding(double magnitude) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    step_ = std::ldexp(1.0, std::max(-20, exponent - 51));
  }

  double operator()(double value) const { return std::nearbyint(value / step_) * step_; }

 private:
  double step_;
};

using Id = std::size_t;

struct CountedSide {
  double cost = 0;
  double calls = 0;
};

struct Cost {
  std::optional<CountedSide> before;
  std::optional<CountedSide> after;
  std::optional<Id> name_before;  // set if the name differs from that of `after`

  double change() const {
    return after.value_or(CountedSide{}).cost - before.value_or(CountedSide{}).cost;
  }
};

using Costs = std::unordered_map<Id, Cost>;  // key: the id of the function's name

double get_cost(const FunctionCost& function, const std::string& metric) {
  if (metric == kInstructions) return function.ir;
  std::map<std::string, double> events = function.events;
  events["Ir"] = function.ir;
  return simulated_metric(metric, events).value_or(0);
}

double sum_sizes(const std::vector<FunctionCost>& functions, const std::string& metric) {
  double sum = 0;
  for (const FunctionCost& function : functions) sum += std::fabs(get_cost(function, metric));
  return sum;
}

// Functions that only one side has and whose names share a part.
struct Unmatched {
  std::vector<Id> before;
  std::vector<Id> after;
};

// Matches a removed and a new function that share a part of their names with no other unmatched
// function. `common` returns the shared part of a name.
template <class Common>
void match_unmatched(Costs& costs, Common common) {
  std::unordered_map<std::string, Unmatched> by_common;
  for (const auto& [name, cost] : costs) {
    if (cost.before && cost.after) continue;
    Unmatched& unmatched = by_common[common(name)];
    (cost.before ? unmatched.before : unmatched.after).push_back(name);
  }
  for (const auto& [shared, unmatched] : by_common) {
    if (unmatched.before.size() != 1 || unmatched.after.size() != 1) continue;
    Cost& kept = costs[unmatched.after.front()];
    kept.before = costs[unmatched.before.front()].before;
    kept.name_before = unmatched.before.front();
    costs.erase(unmatched.before.front());
  }
}

bool has_calls(const std::vector<FunctionCost>& functions) {
  return std::ranges::any_of(functions,
                             [](const FunctionCost& cost) { return !cost.callees.empty(); });
}

FunctionChange make_function_change(const CodeName& name, const CodeName& name_before,
                                    const Cost& cost) {
  FunctionChange change;
  change.function = name.function;
  change.object = name.object;
  if (name_before.object != name.object) change.object_before = name_before.object;
  if (!cost.before) change.state = FunctionState::kNew;
  if (!cost.after) change.state = FunctionState::kGone;
  change.has_symbol = name.has_symbol;
  change.same_name = name_before.function == name.function;
  const CountedSide before = cost.before.value_or(CountedSide{});
  const CountedSide after = cost.after.value_or(CountedSide{});
  change.before = before.cost;
  change.after = after.cost;
  change.change = after.cost - before.cost;
  change.calls_before = before.calls;
  change.calls_after = after.calls;
  return change;
}

}  // namespace

std::vector<CallMove> find_call_moves(const CallingFunctions& before,
                                      const CallingFunctions& after) {
  return CallSearch(before, after).run();
}

// Ids for names, so that each is analysed only once, however many profiles contain it.
class Attributor::Names {
 public:
  Id find_or_add(const FunctionCost& cost) {
    const auto [entry, is_new] = by_raw_.try_emplace(cost.function + '\0' + cost.object, 0);
    if (!is_new) return entry->second;
    CodeName code = code_name(cost.function, cost.object);
    const auto [known, is_new_code] = by_code_.try_emplace(code, names_.size());
    if (is_new_code) names_.push_back({std::move(code)});
    return entry->second = known->second;
  }

  const CodeName& code(Id id) const { return names_[id].code; }

  // Returns the costs of both profiles by their functions, matched.
  Costs match(const std::vector<FunctionCost>& before, const std::vector<FunctionCost>& after,
              const std::string& metric, const Rounding& round) {
    Costs costs;
    const auto add = [&](const std::vector<FunctionCost>& functions,
                         std::optional<CountedSide> Cost::*side) {
      for (const FunctionCost& function : functions) {
        std::optional<CountedSide>& sum = costs[find_or_add(function)].*side;
        if (!sum) sum.emplace();
        sum->cost += round(get_cost(function, metric));
        sum->calls += function.calls;
      }
    };
    add(before, &Cost::before);
    add(after, &Cost::after);
    // Functions of the same name in another library. (The name of code without symbols contains its
    // library.)
    match_unmatched(costs, [this](Id id) { return code(id).function; });
    // Functions of the same name in the same library with other parameters.
    match_unmatched(costs, [this](Id id) {
      auto& plain = names_[id].plain;
      if (!plain) plain = code(id).object + "/" + without_parameters(code(id).function);
      return *plain;
    });
    return costs;
  }

  // Returns the functions that changed, greatest change first.
  std::vector<std::pair<Id, const Cost*>> sort_changed(const Costs& costs) const {
    std::vector<std::pair<Id, const Cost*>> changed;
    for (const auto& [name, cost] : costs) {
      if (cost.change() != 0) changed.emplace_back(name, &cost);
    }
    std::sort(changed.begin(), changed.end(), [this](const auto& left, const auto& right) {
      const double left_size = std::fabs(left.second->change());
      const double right_size = std::fabs(right.second->change());
      if (left_size != right_size) return left_size > right_size;
      return code(left.first) < code(right.first);
    });
    return changed;
  }

  // Returns the functions of a profile with their calls, by the names after that match() found.
  CallingFunctions list_calls(const std::vector<FunctionCost>& functions, const Costs& costs) {
    std::unordered_map<Id, Id> new_names;
    for (const auto& [name, cost] : costs) {
      if (cost.name_before) new_names[*cost.name_before] = name;
    }
    std::vector<Id> ids;
    for (const FunctionCost& function : functions) {
      const Id id = find_or_add(function);
      const auto renamed = new_names.find(id);
      ids.push_back(renamed == new_names.end() ? id : renamed->second);
    }
    CallingFunctions all;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (functions[i].function == kFollowingCalls) continue;
      CallingFunction& caller = all[ids[i]];
      caller.self += functions[i].ir;
      caller.calls += functions[i].calls;
      caller.has_symbol = code(ids[i]).has_symbol;
      for (const CallCost& call : functions[i].callees) {
        if (ids[call.callee] == ids[i]) continue;  // a recursion
        CallingFunction::Edge& edge = caller.callees[ids[call.callee]];
        edge.calls += call.calls;
        edge.ir += call.ir;
      }
    }
    return all;
  }

 private:
  struct Name {
    CodeName code;
    std::optional<std::string> plain = {};  // the library, and the function without parameters
  };

  std::unordered_map<std::string, Id> by_raw_;  // key: function and library as profiles name them
  std::map<CodeName, Id> by_code_;
  std::vector<Name> names_;
};

bool is_attributable(const std::string& metric, const std::vector<FunctionCost>& before,
                     const std::vector<FunctionCost>& after) {
  const auto are_of_python = [](const std::vector<FunctionCost>& functions) {
    return std::ranges::any_of(
        functions, [](const FunctionCost& cost) { return cost.function == kFollowingCalls; });
  };
  if (are_of_python(before) != are_of_python(after)) return false;
  if (metric == kInstructions) return true;
  if (!simulated_metric(metric, {})) return false;
  // In a simulation, some function has read data or jumped.
  const auto has_events = [](const std::vector<FunctionCost>& functions) {
    return std::ranges::any_of(functions,
                               [](const FunctionCost& cost) { return !cost.events.empty(); });
  };
  return has_events(before) && has_events(after);
}

Attributor::Attributor(AttributionOptions options)
    : options_(options), names_(std::make_unique<Names>()) {}
Attributor::~Attributor() = default;

Attribution Attributor::attribute(const std::vector<FunctionCost>& before,
                                  const std::vector<FunctionCost>& after, double difference,
                                  const std::string& metric) {
  Attribution result;
  result.metric = metric;
  result.difference = result.unexplained = difference;
  const double magnitude =
      sum_sizes(before, metric) + sum_sizes(after, metric) + std::fabs(difference);
  if (before.empty() || after.empty() || !std::isfinite(magnitude)) return result;
  const Rounding round(magnitude);
  result.difference = result.unexplained = round(difference);
  const Costs costs = names_->match(before, after, metric, round);
  for (const auto& [name, cost] : names_->sort_changed(costs)) {
    result.unexplained -= cost->change();
    if (result.parts.size() < options_.max_parts) {
      const CodeName& name_before = names_->code(cost->name_before.value_or(name));
      result.parts.push_back(make_function_change(names_->code(name), name_before, *cost));
    } else {
      ++result.others;
      result.others_change += cost->change();
    }
  }
  if (metric != kInstructions || !has_calls(before) || !has_calls(after)) return result;
  for (const CallMove& move :
       find_call_moves(names_->list_calls(before, costs), names_->list_calls(after, costs))) {
    if (result.calls.size() == options_.max_calls) break;
    result.calls.push_back({names_->code(move.caller).function,
                            move.callee ? names_->code(*move.callee).function : "",
                            move.calls_before, move.calls_after, move.change});
  }
  return result;
}

std::vector<DeviceChange> find_device_changes(const std::vector<DeviceEvent>& before,
                                              const std::vector<DeviceEvent>& after) {
  std::vector<DeviceChange> changes;
  const auto find_excess = [&changes](const auto& more, const auto& fewer, int sign) {
    std::vector<DeviceEvent> left = fewer;
    for (const DeviceEvent& event : more) {
      if (const auto pair = std::ranges::find(left, event); pair != left.end()) {
        left.erase(pair);
        continue;
      }
      const auto known = std::ranges::find(changes, event, &DeviceChange::event);
      if (known == changes.end()) {
        changes.push_back({event, sign});
      } else {
        known->change += sign;
      }
    }
  };
  find_excess(after, before, 1);
  find_excess(before, after, -1);
  return changes;
}

}  // namespace instr
