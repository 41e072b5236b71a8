#include "core/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/function_names.h"

namespace instr {

namespace {

// Rounds so that sums of any of the figures are exact in a double.
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

struct Cost {
  std::optional<double> before;
  std::optional<double> after;
  bool same_name = true;
};

using Costs = std::map<CodeName, Cost>;

double magnitude_of(const std::vector<FunctionCost>& functions) {
  double sum = 0;
  for (const FunctionCost& function : functions) sum += std::fabs(function.ir);
  return sum;
}

void add(Costs& costs, const std::vector<FunctionCost>& functions, std::optional<double> Cost::*side,
         const Rounding& rounding) {
  for (const FunctionCost& function : functions) {
    std::optional<double>& sum = costs[code_name(function.function, function.object)].*side;
    sum = sum.value_or(0) + rounding(function.ir);
  }
}

// Functions of one side alone whose names without parameters are equal.
struct Unmatched {
  std::vector<CodeName> before;
  std::vector<CodeName> after;
};

// A function whose parameter types changed has another name in each build: where it is the only one
// of its plain name that is gone and one alone is new, they are one function.
void match_changed_signatures(Costs& costs) {
  std::map<std::pair<std::string, std::string>, Unmatched> by_plain_name;
  for (const auto& [name, cost] : costs) {
    if (!name.has_symbol || (cost.before && cost.after)) continue;
    Unmatched& unmatched = by_plain_name[{without_parameters(name.function), name.object}];
    (cost.before ? unmatched.before : unmatched.after).push_back(name);
  }
  for (const auto& [plain, unmatched] : by_plain_name) {
    if (unmatched.before.size() != 1 || unmatched.after.size() != 1) continue;
    Cost& kept = costs[unmatched.after.front()];
    kept.before = costs[unmatched.before.front()].before;
    kept.same_name = false;
    costs.erase(unmatched.before.front());
  }
}

std::vector<FunctionChange> changes_of(const Costs& costs) {
  std::vector<FunctionChange> changes;
  for (const auto& [name, cost] : costs) {
    FunctionChange change{name.function, name.object, FunctionState::kMoved, name.has_symbol,
                          cost.same_name, cost.before.value_or(0), cost.after.value_or(0), 0};
    change.change = change.after - change.before;
    if (change.change == 0) continue;
    if (!cost.before) change.state = FunctionState::kNew;
    if (!cost.after) change.state = FunctionState::kGone;
    changes.push_back(std::move(change));
  }
  std::sort(changes.begin(), changes.end(), [](const auto& left, const auto& right) {
    return std::make_tuple(-std::fabs(left.change), std::cref(left.function),
                           std::cref(left.object)) <
           std::make_tuple(-std::fabs(right.change), std::cref(right.function),
                           std::cref(right.object));
  });
  return changes;
}

}  // namespace

Attribution attribute(const std::vector<FunctionCost>& before,
                      const std::vector<FunctionCost>& after, double difference,
                      const AttributionOptions& options) {
  Attribution result;
  double magnitude = magnitude_of(before) + magnitude_of(after) + std::fabs(difference);
  if (before.empty() || after.empty() || !std::isfinite(magnitude)) {
    result.difference = result.unexplained = difference;
    return result;
  }
  Rounding rounding(magnitude);
  result.difference = result.unexplained = rounding(difference);
  Costs costs;
  add(costs, before, &Cost::before, rounding);
  add(costs, after, &Cost::after, rounding);
  match_changed_signatures(costs);
  result.parts = changes_of(costs);
  for (const FunctionChange& part : result.parts) result.unexplained -= part.change;
  while (result.parts.size() > options.most_parts) {
    ++result.others;
    result.others_change += result.parts.back().change;
    result.parts.pop_back();
  }
  return result;
}

}  // namespace instr
