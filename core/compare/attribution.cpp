#include "core/compare/attribution.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/compare/call_changes.h"
#include "core/profile/function_names.h"
#include "core/results/simulation.h"

namespace instr {

namespace {

// Rounds so that sums of any of the values are exact in a double.
class Rounding {
 public:
  // `magnitude`: no sum is greater. Finite.
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
  std::optional<Id> name_before;  // if it is not that of `after`
};

// By the name's number.
using Costs = std::unordered_map<Id, Cost>;

double cost_of(const FunctionCost& function, const std::string& metric) {
  if (metric == kInstructions) return function.ir;
  std::map<std::string, double> events = function.events;
  events["Ir"] = function.ir;
  return simulated_metric(metric, events).value_or(0);
}

double magnitude_of(const std::vector<FunctionCost>& functions, const std::string& metric) {
  double sum = 0;
  for (const FunctionCost& function : functions) sum += std::fabs(cost_of(function, metric));
  return sum;
}

struct RawName {
  std::string_view function;
  std::string_view object;

  bool operator==(const RawName&) const = default;
};

struct RawNameHash {
  std::size_t operator()(const RawName& name) const {
    std::hash<std::string_view> hash;
    return hash(name.function) * 31 + hash(name.object);
  }
};

double change_of(const Cost& cost) {
  return cost.after.value_or(CountedSide{}).cost - cost.before.value_or(CountedSide{}).cost;
}

// Functions that only one side has and whose names share a part.
struct Unmatched {
  std::vector<Id> before;
  std::vector<Id> after;
};

// If exactly one function of those that share a part of their name is gone and exactly one is new,
// they are the same function. `common`: the id of the shared part of a name.
template <class Common>
void match_unmatched(Costs& costs, Common common) {
  std::unordered_map<Id, Unmatched> by_common;
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

// The names that match_unmatched() took for others, by their ids.
std::unordered_map<Id, Id> renamed(const Costs& costs) {
  std::unordered_map<Id, Id> names;
  for (const auto& [name, cost] : costs) {
    if (cost.name_before) names[*cost.name_before] = name;
  }
  return names;
}

bool has_calls(const std::vector<FunctionCost>& functions) {
  return std::any_of(functions.begin(), functions.end(),
                     [](const FunctionCost& one) { return !one.callees.empty(); });
}

}  // namespace

// Ids for names, so that each is analysed only once, however many profiles hold it.
class Attributor::Names {
 public:
  Id of(const FunctionCost& cost) {
    if (auto found = by_raw_.find({cost.function, cost.object}); found != by_raw_.end()) {
      return found->second;
    }
    Id id = intern(code_name(cost.function, cost.object));
    const std::string& function = texts_.emplace_back(cost.function);
    const std::string& object = texts_.emplace_back(cost.object);
    by_raw_.emplace(RawName{function, object}, id);
    return id;
  }

  const CodeName& code(Id id) const { return names_[id].code; }

  // The part shared by all functions of that name, whatever their library. (The name of code
  // without symbols contains its library.)
  Id function(Id id) { return common(id, &Name::function, code(id).function, ""); }

  // The part shared by all functions of that name, without parameters, in that library.
  Id plain(Id id) {
    if (names_[id].plain) return *names_[id].plain;
    return common(id, &Name::plain, without_parameters(code(id).function), code(id).object + "/");
  }

  // The functions of a profile with their calls. `renamed`: ids that others stand for.
  CallingFunctions calling(const std::vector<FunctionCost>& functions,
                           const std::unordered_map<Id, Id>& renamed) {
    std::vector<Id> ids;
    for (const FunctionCost& function : functions) {
      const Id id = of(function);
      const auto now = renamed.find(id);
      ids.push_back(now == renamed.end() ? id : now->second);
    }
    CallingFunctions all;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      CallingFunction& one = all[ids[i]];
      one.self += functions[i].ir;
      one.calls += functions[i].calls;
      one.is_one = code(ids[i]).has_symbol;
      for (const CallCost& call : functions[i].callees) {
        if (ids[call.callee] == ids[i]) continue;  // a recursion
        CallingFunction::Edge& edge = one.callees[ids[call.callee]];
        edge.calls += call.calls;
        edge.ir += call.ir;
      }
    }
    return all;
  }

 private:
  struct Name {
    CodeName code;
    std::optional<Id> function;
    std::optional<Id> plain;
  };

  Id intern(CodeName code) {
    auto [entry, is_new] = by_code_.try_emplace(code, names_.size());
    if (is_new) names_.push_back({std::move(code), std::nullopt, std::nullopt});
    return entry->second;
  }

  Id common(Id id, std::optional<Id> Name::*field, const std::string& text,
            const std::string& scope) {
    std::optional<Id>& known = names_[id].*field;
    if (!known) known = common_.try_emplace({text, scope}, common_.size()).first->second;
    return *known;
  }

  std::deque<std::string> texts_;  // what the keys of by_raw_ look at
  std::unordered_map<RawName, Id, RawNameHash> by_raw_;
  std::map<CodeName, Id> by_code_;
  std::vector<Name> names_;
  std::map<std::pair<std::string, std::string>, Id> common_;
};

namespace {

FunctionChange function_change(const CodeName& name, const CodeName& name_before,
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

bool is_attributable(const std::string& metric, const std::vector<FunctionCost>& before,
                     const std::vector<FunctionCost>& after) {
  if (metric == kInstructions) return true;
  if (!simulated_metric(metric, {})) return false;
  // In a simulation, some function has read data or jumped.
  auto has_events = [](const std::vector<FunctionCost>& functions) {
    return std::any_of(functions.begin(), functions.end(),
                       [](const FunctionCost& one) { return !one.events.empty(); });
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
  double magnitude =
      magnitude_of(before, metric) + magnitude_of(after, metric) + std::fabs(difference);
  if (before.empty() || after.empty() || !std::isfinite(magnitude)) return result;
  Rounding rounding(magnitude);
  result.difference = result.unexplained = rounding(difference);
  Costs costs;
  auto add = [&](const std::vector<FunctionCost>& functions,
                 std::optional<CountedSide> Cost::*side) {
    for (const FunctionCost& function : functions) {
      std::optional<CountedSide>& sum = costs[names_->of(function)].*side;
      if (!sum) sum.emplace();
      sum->cost += rounding(cost_of(function, metric));
      sum->calls += function.calls;
    }
  };
  add(before, &Cost::before);
  add(after, &Cost::after);
  match_unmatched(costs, [this](Id id) { return names_->function(id); });
  match_unmatched(costs, [this](Id id) { return names_->plain(id); });
  std::vector<std::pair<Id, const Cost*>> changed;
  for (const auto& [name, cost] : costs) {
    if (change_of(cost) != 0) changed.emplace_back(name, &cost);
  }
  std::sort(changed.begin(), changed.end(), [this](const auto& left, const auto& right) {
    double left_size = std::fabs(change_of(*left.second));
    double right_size = std::fabs(change_of(*right.second));
    if (left_size != right_size) return left_size > right_size;
    return names_->code(left.first) < names_->code(right.first);
  });
  for (const auto& [name, cost] : changed) {
    result.unexplained -= change_of(*cost);
    if (result.parts.size() < options_.max_parts) {
      const CodeName& name_before = names_->code(cost->name_before.value_or(name));
      result.parts.push_back(function_change(names_->code(name), name_before, *cost));
    } else {
      ++result.others;
      result.others_change += change_of(*cost);
    }
  }
  if (metric == kInstructions && has_calls(before) && has_calls(after)) {
    const auto new_names = renamed(costs);
    for (const CallMove& move :
         call_moves(names_->calling(before, new_names), names_->calling(after, new_names))) {
      if (result.calls.size() == options_.max_calls) break;
      result.calls.push_back({names_->code(move.caller).function,
                              move.callee ? names_->code(*move.callee).function : "",
                              move.calls_before, move.calls_after, move.change});
    }
  }
  return result;
}

}  // namespace instr
