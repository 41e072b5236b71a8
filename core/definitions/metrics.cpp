#include "core/definitions/metrics.h"

#include <algorithm>

namespace instr {

namespace {

static_assert(std::is_sorted(kMetrics.begin(), kMetrics.end(),
                             [](const Metric& left, const Metric& right) {
                               return left.group < right.group;
                             }),
              "each group of metrics stands together");

static_assert(std::all_of(kMetrics.begin(), kMetrics.end(),
                          [](const Metric& metric) {
                            return metric.unit != Unit::kNanoseconds ||
                                   metric.statistic != Statistic::kNone ||
                                   metric.group == MetricGroup::kStart;
                          }),
              "each metric that is a time has its repetitions, or is of a single start");

}  // namespace

const char* to_string(Unit unit) {
  switch (unit) {
    case Unit::kInstructions: return "instructions";
    case Unit::kAllocations: return "allocs";
    case Unit::kBytes: return "bytes";
    case Unit::kAccesses: return "accesses";
    case Unit::kCycles: return "cycles";
    case Unit::kBranches: return "branches";
    case Unit::kNanoseconds: return "ns";
    case Unit::kRatio: return "x";
    case Unit::kPageFaults: return "faults";
    case Unit::kGraphs: return "graphs";
    case Unit::kGraphBreaks: return "breaks";
    case Unit::kRecompilations: return "recompilations";
    case Unit::kDeviceEvents: return "events";
  }
  return "";
}

std::string metric_name(std::string_view word) {
  for (const Metric& metric : kMetrics) {
    if (metric.alias != nullptr && word == metric.alias) return metric.name;
  }
  return std::string(word);
}

std::vector<std::string> names_of(std::span<const Metric> metrics) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics) names.emplace_back(metric.name);
  return names;
}

std::vector<std::string> default_metrics() {
  std::vector<std::string> names;
  for (const Metric& metric : kMetrics) {
    if (metric.is_default) names.emplace_back(metric.name);
  }
  return names;
}

std::vector<std::pair<std::string, std::span<const Metric>>> metric_words() {
  std::vector<std::pair<std::string, std::span<const Metric>>> words;
  for (const Metric& metric : kMetrics) words.emplace_back(metric.name, std::span(&metric, 1));
  for (const MetricGroupFacts& group : kMetricGroups) {
    if (group.word != nullptr) words.emplace_back(group.word, metrics_of(group.group));
  }
  return words;
}

}  // namespace instr
