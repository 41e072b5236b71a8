#include "core/compare/call_changes.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

std::vector<CallMove> find_call_moves(const CallingFunctions& before,
                                      const CallingFunctions& after) {
  return CallSearch(before, after).run();
}

}  // namespace instr
