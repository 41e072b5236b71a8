#include "core/results/operator_times.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace instr {

namespace {

// A call in progress, while its callees are processed.
struct OpenCall {
  const OperatorCall* call;
  std::uint64_t inner;  // nanoseconds in its direct callees
};

using Times = std::map<std::pair<std::string, bool>, OperatorTime>;

void close_call(std::vector<OpenCall>& open, Times& times) {
  const OpenCall closed = open.back();
  open.pop_back();
  const OperatorCall& call = *closed.call;
  OperatorTime& time = times[{call.name, call.is_on_device}];
  time.name = call.name;
  time.is_on_device = call.is_on_device;
  ++time.calls;
  time.self += call.duration - std::min(call.duration, closed.inner);
  bool is_recursive = std::ranges::any_of(
      open, [&](const OpenCall& outer) { return outer.call->name == call.name; });
  if (!is_recursive) time.total += call.duration;
  if (!open.empty()) open.back().inner += call.duration;
}

}  // namespace

std::vector<OperatorTime> times_by_operator(const std::vector<OperatorCall>& calls) {
  Times times;
  std::map<std::pair<std::uint64_t, bool>, std::vector<OpenCall>> open;  // key: thread, device
  for (const OperatorCall& call : calls) {
    auto& stack = open[{call.thread, call.is_on_device}];
    while (!stack.empty() && stack.back().call->start + stack.back().call->duration <= call.start) {
      close_call(stack, times);
    }
    stack.push_back({&call, 0});
  }
  for (auto& [thread, stack] : open) {
    while (!stack.empty()) close_call(stack, times);
  }
  std::vector<OperatorTime> sorted;
  for (auto& [name, time] : times) sorted.push_back(std::move(time));
  std::ranges::stable_sort(sorted, std::greater(), &OperatorTime::self);
  return sorted;
}

}  // namespace instr
