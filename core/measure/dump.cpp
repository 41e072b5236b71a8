#include "core/measure/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/output_file.h"
#include "core/base/table.h"
#include "core/results/results_file.h"
#include "worker/wire.h"

namespace instr {

namespace {

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

Expected<void> write(const fs::path& file, const std::string& text) {
  return replace_file(file, text).map([](const Fd&) {});
}

std::string counters_text(const wire::Message& inspected) {
  std::string text;
  for (const char* name : {"graphs", "graph_breaks", "recompilations", "guard_failures", "frames",
                           "frames_compiled", "fused", "fallbacks", "bailouts"}) {
    if (inspected.fields.contains(name)) {
      text += fmt::format("{} {}\n", name, inspected.get(name));
    }
  }
  return text;
}

// Returns a compiler's log, or else TorchScript's counterpart.
std::string find_log(const wire::Message& inspected, const char* log, const char* otherwise = "") {
  return inspected.get(std::string("log_") + log, inspected.get(otherwise));
}

}  // namespace

std::string compiler_logs(const DumpParts& parts) {
  std::string logs;
  for (const DumpPartFacts& known : kDumpParts) {
    if (parts.contains(known.part)) logs += known.logs + std::string(" ");
  }
  return logs;
}

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
  // A caller comes before a call that begins at the same time.
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    return a.start != b.start ? a.start < b.start : a.duration > b.duration;
  });
  return calls;
}

std::string operator_table(const std::vector<OperatorTime>& times) {
  double sum = 0;
  for (const OperatorTime& time : times) sum += static_cast<double>(time.self);
  Table table{.columns = {{.heading = "operator", .align = Align::kLeft},
                          {.heading = "calls", .min = 6},
                          {.heading = "self", .min = 10},
                          {.heading = "share", .min = 6},
                          {.heading = "total", .min = 10},
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
  TRY(make_output_folder(folder, "name another one with --dump-dir"));
  const auto calls = parse_calls(inspected.get("events"));
  Expected<void> written;
  auto keep = [&](DumpPart part, const char* name, const std::string& text) {
    const bool is_wanted = parts.contains(part) && !text.empty();
    if (is_wanted && written) written = write(folder / name, text);
  };
  const std::string graph = find_log(inspected, "graph_code", "graph");
  keep(DumpPart::kGraph, "graph.before.txt", graph);
  keep(DumpPart::kGraph, "graph.after.txt", find_log(inspected, "aot_graphs", "optimized_graph"));
  if (!graph.empty()) keep(DumpPart::kGraph, "counters.txt", counters_text(inspected));
  keep(DumpPart::kGraph, "ir.txt", find_log(inspected, "ir"));
  keep(DumpPart::kGraph, "hlo.txt", find_log(inspected, "hlo"));
  keep(DumpPart::kGraph, "stablehlo.mlir", find_log(inspected, "stablehlo"));
  keep(DumpPart::kCode, "code.txt", find_log(inspected, "output_code"));
  keep(DumpPart::kBreaks, "breaks.txt",
       find_log(inspected, "graph_breaks") + find_log(inspected, "recompiles"));
  keep(DumpPart::kProfile, "profile.txt", operator_table(times_by_operator(calls)));
  keep(DumpPart::kTrace, "trace.json", chrome_trace(calls, variant.key));
  keep(DumpPart::kXla, "xla_metrics.txt", find_log(inspected, "xla_metrics"));
  for (int i = 1; written && inspected.fields.contains(std::to_string(i)); ++i) {
    const auto iteration = wire::decode_line(inspected.get(std::to_string(i)));
    if (iteration) written = write_dump(folder / std::to_string(i), parts, variant, *iteration);
  }
  return written;
}

}  // namespace instr
