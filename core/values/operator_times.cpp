#include "core/values/operator_times.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "core/base/format.h"

namespace instr {

namespace {

// Takes the number at the beginning of `text`, and the space after it.
bool take_number(std::string_view& text, std::uint64_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return true;
}

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
  bool is_recursive = std::any_of(open.begin(), open.end(), [&](const OpenCall& outer) {
    return outer.call->name == call.name;
  });
  if (!is_recursive) time.total += call.duration;
  if (!open.empty()) open.back().inner += call.duration;
}

}  // namespace

std::vector<OperatorCall> parse_calls(std::string_view lines) {
  std::vector<OperatorCall> calls;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    OperatorCall call;
    std::uint64_t is_on_device = 0;
    bool is_call = take_number(line, call.start) && take_number(line, call.duration) &&
                   take_number(line, call.thread) && take_number(line, is_on_device);
    if (!is_call) continue;
    call.name = printable(line);
    call.is_on_device = is_on_device != 0;
    calls.push_back(std::move(call));
  }
  // One that begins at the same time as its caller comes after it.
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  });
  return calls;
}

std::vector<OperatorTime> times_by_operator(const std::vector<OperatorCall>& calls) {
  Times times;
  std::map<std::pair<std::uint64_t, bool>, std::vector<OpenCall>> open;  // by thread
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
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.self > b.self; });
  return sorted;
}

}  // namespace instr
