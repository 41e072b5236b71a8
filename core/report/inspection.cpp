#include "core/report/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/replace_file.h"
#include "core/report/table.h"
#include "core/results/results.h"
#include "worker/wire.h"

namespace instr {

namespace {

namespace fs = std::filesystem;

constexpr double kMicrosecond = 1000;

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

Expected<void> write(const fs::path& file, const std::string& text) {
  return replace_file(file, text).map([](const Fd&) {});
}

std::string counters_text(const wire::Message& inspected) {
  std::string text;
  for (const char* name : {"graphs", "fused", "fallbacks", "bailouts"}) {
    text += fmt::format("{} {}\n", name, inspected.get(name, "0"));
  }
  return text;
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

std::string operator_table(const std::vector<OperatorTime>& times) {
  double sum = 0;
  for (const OperatorTime& time : times) sum += static_cast<double>(time.self);
  Table table{.columns = {{.heading = "operator", .align = Align::kLeft},
                          {.heading = "calls", .least = 6},
                          {.heading = "self", .least = 10},
                          {.heading = "share", .least = 6},
                          {.heading = "total", .least = 10},
                          {.align = Align::kLeft}},
              .headings = Headings::kPlain};
  for (const OperatorTime& time : times) {
    double self = static_cast<double>(time.self);
    table.lines.push_back({.cells = {{time.name},
                                     {std::to_string(time.calls)},
                                     {format_time(self)},
                                     {fmt::format("{:.1f}%", sum > 0 ? 100 * self / sum : 0.0)},
                                     {format_time(static_cast<double>(time.total))},
                                     {time.is_on_device ? "on the device" : ""}}});
  }
  return *table_text(table, 0, /*color=*/false);
}

std::string chrome_trace(const std::vector<OperatorCall>& calls, const std::string& title) {
  nlohmann::ordered_json trace;
  trace["displayTimeUnit"] = "ns";
  trace["otherData"] = {{"benchmark", title}};
  auto& events = trace["traceEvents"] = nlohmann::ordered_json::array();
  for (int device : {0, 1}) {
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", device},
                      {"tid", 0},
                      {"args", {{"name", device == 0 ? "CPU" : "CUDA"}}}});
  }
  for (const OperatorCall& call : calls) {
    events.push_back({{"ph", "X"},
                      {"name", call.name},
                      {"cat", call.is_on_device ? "kernel" : "operator"},
                      {"pid", call.is_on_device ? 1 : 0},
                      {"tid", call.thread},
                      {"ts", json_number(static_cast<double>(call.start) / kMicrosecond)},
                      {"dur", json_number(static_cast<double>(call.duration) / kMicrosecond)}});
  }
  return to_line(trace) + "\n";
}

Expected<void> write_dump(const fs::path& folder, const DumpParts& parts, const Variant& variant,
                          const wire::Message& inspected) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) {
    return fail(fmt::format("cannot make the folder {}: {}", folder.string(), problem.message()),
                "name another one with --dump-folder");
  }
  const auto calls = parse_calls(inspected.get("events"));
  Expected<void> written;
  auto keep = [&](bool is_wanted, const char* name, const auto& text) {
    if (is_wanted && written) written = write(folder / name, text());
  };
  bool has_graph = parts.graph && !inspected.get("graph").empty();
  keep(has_graph, "graph.before.txt", [&] { return inspected.get("graph"); });
  keep(has_graph, "graph.after.txt", [&] { return inspected.get("optimized_graph"); });
  keep(has_graph, "counters.txt", [&] { return counters_text(inspected); });
  keep(parts.profile, "profile.txt", [&] { return operator_table(times_by_operator(calls)); });
  keep(parts.trace, "trace.json", [&] { return chrome_trace(calls, variant.key); });
  return written;
}

}  // namespace instr
