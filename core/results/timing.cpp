#include "core/results/timing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "core/definitions/metrics.h"

namespace instr {

namespace {

// Interpolates between the two nearest values. `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double share) {
  double place = share * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<std::size_t>(place);
  std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
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
  bool is_recursive = std::ranges::any_of(
      open, [&](const OpenCall& outer) { return outer.call->name == call.name; });
  if (!is_recursive) time.total += call.duration;
  if (!open.empty()) open.back().inner += call.duration;
}

// Sums of all calls, and of those inside graphs.
struct Shares {
  double count = 0;
  double inside_count = 0;
  double time = 0;
  double inside_time = 0;

  void add(std::uint64_t duration, bool is_inside) {
    const auto nanoseconds = static_cast<double>(duration);
    ++count;
    time += nanoseconds;
    if (!is_inside) return;
    ++inside_count;
    inside_time += nanoseconds;
  }
};

// True for "aten::add"; false for what only surrounds operators, such as "AddBackward0" and
// "autograd::engine::evaluate_function: AddBackward0".
bool is_operator(std::string_view name) {
  if (name.find("::") == std::string_view::npos || name.find(' ') != std::string_view::npos) {
    return false;
  }
  return std::ranges::none_of(std::array{"autograd::", "torch::autograd::", "profiler::"},
                              [name](const char* start) { return name.starts_with(start); });
}

}  // namespace

const std::vector<double>& Timing::of(std::string_view metric) const {
  static const std::vector<double> kEmpty;
  const auto entry = values.find(metric);
  return entry == values.end() ? kEmpty : entry->second;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

std::optional<double> geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::optional<Quartiles> quartiles(std::vector<double> values) {
  if (values.size() < 4) return std::nullopt;
  std::ranges::sort(values);
  return Quartiles{quantile(values, 0.25), quantile(values, 0.75)};
}

void add_relative(Timing& timing, const std::vector<double>& eager) {
  const std::vector<double>& wall = timing.of(kWall);
  if (wall.size() != eager.size()) return;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < wall.size(); ++i) ratios.push_back(wall[i] / eager[i]);
  if (!ratios.empty()) timing.values[kRelativeWall] = std::move(ratios);
}

void replace_ready_times(std::map<std::string, double>& metrics) {
  const auto replace = [&metrics](const std::string& until, const char* compiling) {
    const auto ready = metrics.find(until);
    if (ready == metrics.end()) return;
    metrics[compiling] = std::max(0.0, ready->second - metrics.at(kWall));
    if (until != kReadyTime) metrics.erase(ready);
  };
  replace(kReadyTime, kCompileTime);
  replace(kReadyCpu, kCompileCpu);
  replace("warm_ready", kWarmCompileTime);
  replace("warm_ready_cpu", kWarmCompileCpu);
}

void add_times(std::map<std::string, double>& metrics, const Timing& timing) {
  for (const Metric& metric : kMetrics) {
    const std::vector<double>& values = timing.of(metric.name);
    if (values.empty()) continue;
    metrics[metric.name] =
        metric.statistic == Statistic::kMin ? std::ranges::min(values) : median(values);
  }
  if (timing.device_peak_bytes) {
    metrics[kDevicePeakBytes] = static_cast<double>(*timing.device_peak_bytes);
  }
}

std::optional<Coverage> find_coverage(const std::vector<OperatorCall>& calls) {
  Shares operators;
  Shares kernels;
  std::map<std::uint64_t, std::uint64_t> graph_ends;     // thread -> end of its last graph
  std::map<std::uint64_t, std::uint64_t> operator_ends;  // thread -> end of its last operator
  for (const OperatorCall& call : calls) {
    const std::uint64_t end = call.start + call.duration;
    if (call.is_on_device) {
      const bool is_inside = std::ranges::any_of(
          graph_ends, [&call](const auto& graph) { return call.start < graph.second; });
      kernels.add(call.duration, is_inside);
    } else if (call.name == kGraphRange) {
      graph_ends[call.thread] = std::max(graph_ends[call.thread], end);
    } else if (is_operator(call.name) && call.start >= operator_ends[call.thread]) {
      operator_ends[call.thread] = end;
      operators.add(call.duration, end <= graph_ends[call.thread]);
    }
  }
  if (operators.count == 0) return std::nullopt;
  const Shares& timed = kernels.count == 0 ? operators : kernels;
  return Coverage{operators.inside_count / operators.count,
                  timed.time > 0 ? timed.inside_time / timed.time : 0};
}

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
