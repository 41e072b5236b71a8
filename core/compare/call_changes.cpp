#include "core/compare/call_changes.h"

#include <algorithm>
#include <cmath>

namespace instr {

namespace {

constexpr double kMin = 1e-6;  // below are only errors of rounding

// How sure it is that what a function does differently is a change of its own.
enum class Certainty {
  kCalledAsOften,
  kCalledMoreOrLess,  // perhaps from places for which it does something else
  kWithoutSymbols,    // many functions
};

Certainty certainty_of(const CallingFunction& before, const CallingFunction& after) {
  if (!before.is_one) return Certainty::kWithoutSymbols;
  return before.calls == after.calls ? Certainty::kCalledAsOften : Certainty::kCalledMoreOrLess;
}

class CallSearch {
 public:
  CallSearch(const CallingFunctions& before, const CallingFunctions& after)
      : before_(before), after_(after) {}

  std::vector<CallMove> run() {
    const double whole = std::fabs(self_cost(after_) - self_cost(before_));
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
  static double self_cost(const CallingFunctions& functions) {
    double sum = 0;
    for (const auto& [number, function] : functions) sum += function.self;
    return sum;
  }

  void search(Certainty certainty) {
    for (const auto& [number, before] : before_) {
      const auto after = after_.find(number);
      if (after == after_.end() || certainty_of(before, after->second) != certainty) continue;
      compare(number, before, after->second);
    }
  }

  void compare(std::size_t number, const CallingFunction& before, const CallingFunction& after) {
    const bool are_known = before.is_one && before.calls > 0 && after.calls > 0;
    const double ratio = are_known ? after.calls / before.calls : 1;
    const auto add = [&](std::optional<std::size_t> callee, double calls_before, double calls_after,
                         double change) {
      if (std::fabs(change) < kMin) return;
      moves_.push_back({number, callee, calls_before, calls_after, change});
      explained_ += std::fabs(change);
    };
    add(std::nullopt, before.calls, after.calls, after.self - ratio * before.self);
    const auto compare_edges = [&](std::size_t callee, const CallingFunction::Edge& old,
                                   const CallingFunction::Edge& now) {
      if (std::fabs(now.calls - ratio * old.calls) < kMin) return;  // if anything, within it
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

std::vector<CallMove> call_moves(const CallingFunctions& before, const CallingFunctions& after) {
  return CallSearch(before, after).run();
}

}  // namespace instr
