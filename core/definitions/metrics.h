// The metrics: one entry each. Results, limits, --metrics, reports, pictures and the JSON Schemas
// are derived from this table. Every value is per iteration, and for every metric less is better.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/definitions/limit.h"

namespace instr {

enum class Unit {
  kInstructions,
  kAllocations,
  kBytes,
  kAccesses,
  kCycles,
  kBranches,
  kNanoseconds,
  kPageFaults,
  kGraphs,
  kGraphBreaks,
  kRecompilations,
};

const char* to_string(Unit unit);  // "instructions", "allocs", ..., "ns"

// What has to run to obtain a metric. Those up to kBranch are counted under Valgrind, the others
// are measured without it.
enum class MetricGroup {
  kCounted,   // every count has these
  kCache,     // simulated caches
  kBranch,    // a simulated branch predictor
  kTime,      // repetitions
  kStart,     // fresh processes
  kDevice,    // repetitions on a device
  kHardware,  // repetitions, with the processor's counters
  kKernel,    // with the kernel's
};

struct MetricGroupFacts {
  MetricGroup group;
  const char* how;             // how its metrics are obtained, for --help
  const char* word = nullptr;  // that stands for them all in --metrics; null: none
};

inline constexpr auto kMetricGroups = std::to_array<MetricGroupFacts>(
    {{.group = MetricGroup::kCounted, .how = "counted"},
     {.group = MetricGroup::kCache, .how = "simulated", .word = "cache"},
     {.group = MetricGroup::kBranch, .how = "simulated", .word = "branch"},
     {.group = MetricGroup::kTime, .how = "without Valgrind"},
     {.group = MetricGroup::kStart, .how = "without Valgrind"},
     {.group = MetricGroup::kDevice, .how = "without Valgrind"},
     {.group = MetricGroup::kHardware, .how = "counted by the processor", .word = "hw"},
     {.group = MetricGroup::kKernel, .how = "counted by the kernel"}});

// What becomes of a metric's values, if there is one for each repetition or fresh process.
enum class Statistic {
  kNone,  // there is a single value
  kMedian,
  kMin,  // what disturbs it only adds to it
};

struct Metric {
  const char* name;             // in results, limits and --metrics
  const char* alias = nullptr;  // another name that options and files take
  const char* heading;          // of its column in a table
  const char* title;            // of its axis in a picture
  const char* what;             // in a sentence: "limit of ..."
  Unit unit;
  MetricGroup group;
  Statistic statistic = Statistic::kNone;
  Limit hard_limit = {};  // if nothing else sets one
  Limit soft_limit = {};
  const char* example_limit;     // in a definition, for messages
  bool is_default = false;       // shown without --metrics
  bool is_side_by_side = false;  // has a column for each variant of a benchmark
};

// Those that the code refers to by name.
inline constexpr const char* kInstructions = "instructions";  // the count itself
inline constexpr const char* kPeakBytes = "peak_bytes";
inline constexpr const char* kWall = "wall";
inline constexpr const char* kCpu = "cpu";
inline constexpr const char* kFirstResultTime = "first_result";
inline constexpr const char* kReadyTime = "ready";
inline constexpr const char* kDevicePeakBytes = "device_peak_bytes";

// In the order of reports, each group together.
//
// Counts are exact, so no limit needs a margin for noise: 0.5% of the instructions is a price that
// a worthwhile change may have, far below what any other method can detect; an additional
// allocation never happens by chance. The soft limits show the creep of many merges that each stay
// below the hard one.
inline constexpr auto kMetrics = std::to_array<Metric>(
    {{.name = kInstructions,
      .alias = "ir",
      .heading = "instructions",
      .title = "Instructions per iteration",
      .what = "the instructions",
      .unit = Unit::kInstructions,
      .group = MetricGroup::kCounted,
      .hard_limit = {.percent = 0.5},
      .soft_limit = {.percent = 0.1},
      .example_limit = "0.5%",
      .is_default = true,
      .is_side_by_side = true},
     {.name = "allocs",
      .heading = "allocs",
      .title = "Allocations per iteration",
      .what = "the number of allocations",
      .unit = Unit::kAllocations,
      .group = MetricGroup::kCounted,
      .hard_limit = {.absolute = 0},
      .example_limit = "+0",
      .is_default = true},
     {.name = "alloc_bytes",
      .heading = "bytes",
      .title = "Bytes allocated per iteration",
      .what = "the bytes allocated",
      .unit = Unit::kBytes,
      .group = MetricGroup::kCounted,
      .hard_limit = {.percent = 0.5},
      .soft_limit = {.absolute = 0},
      .example_limit = "0%",
      .is_default = true},
     {.name = kPeakBytes,
      .heading = "peak bytes",
      .title = "Peak of live bytes",
      .what = "the highest number of live bytes",
      .unit = Unit::kBytes,
      .group = MetricGroup::kCounted,
      .hard_limit = {.percent = 0.5},
      .soft_limit = {.absolute = 0},
      .example_limit = "1%|+4096"},
     // An access that changes a place is a write.
     {.name = "data_reads",
      .heading = "data reads",
      .title = "Data reads per iteration",
      .what = "the number of data reads",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     {.name = "data_writes",
      .heading = "data writes",
      .title = "Data writes per iteration",
      .what = "the number of data writes",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     {.name = "i1_misses",
      .heading = "i1 misses",
      .title = "L1 instruction misses per iteration",
      .what = "the number of instruction fetches that missed the first-level cache",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     {.name = "d1_misses",
      .heading = "d1 misses",
      .title = "L1 data misses per iteration",
      .what = "the number of data accesses that missed the first-level cache",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     // Of instructions and data.
     {.name = "l1_hits",
      .heading = "l1 hits",
      .title = "L1 hits per iteration",
      .what = "the number of accesses that hit the first-level caches",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     {.name = "ll_hits",
      .heading = "ll hits",
      .title = "Last-level hits per iteration",
      .what = "the number of accesses that hit the last-level cache",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     {.name = "ram_hits",
      .heading = "ram hits",
      .title = "Accesses to memory per iteration",
      .what = "the number of accesses that missed all caches",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     // l1_hits + 5 ll_hits + 35 ram_hits, Itamar Turner-Trauring's formula
     // (pythonspeed.com/articles/consistent-benchmarking-in-ci), which iai and its successors use.
     {.name = "estimated_cycles",
      .heading = "estimated cycles",
      .title = "Estimated cycles per iteration",
      .what = "the estimated cycles",
      .unit = Unit::kCycles,
      .group = MetricGroup::kCache,
      .example_limit = "1%"},
     // Conditional branches, and indirect jumps and calls.
     {.name = "branches",
      .heading = "branches",
      .title = "Branches per iteration",
      .what = "the number of branches",
      .unit = Unit::kBranches,
      .group = MetricGroup::kBranch,
      .example_limit = "1%"},
     {.name = "mispredictions",
      .heading = "mispredictions",
      .title = "Mispredicted branches per iteration",
      .what = "the number of mispredicted branches",
      .unit = Unit::kBranches,
      .group = MetricGroup::kBranch,
      .example_limit = "1%"},
     // Medians of repetitions: until the statement and the work it left to the device are done; and
     // the CPU time of the thread that runs it.
     {.name = kWall,
      .heading = "wall time",
      .title = "Wall time per iteration (median)",
      .what = "the wall time",
      .unit = Unit::kNanoseconds,
      .group = MetricGroup::kTime,
      .statistic = Statistic::kMedian,
      .example_limit = "5%",
      .is_side_by_side = true},
     {.name = kCpu,
      .heading = "cpu",
      .title = "CPU time per iteration (median)",
      .what = "the CPU time",
      .unit = Unit::kNanoseconds,
      .group = MetricGroup::kTime,
      .statistic = Statistic::kMedian,
      .example_limit = "5%"},
     // Medians of fresh processes.
     {.name = kFirstResultTime,
      .heading = "first result",
      .title = "Time to the first result (median)",
      .what = "the time from a text to its first result",
      .unit = Unit::kNanoseconds,
      .group = MetricGroup::kStart,
      .statistic = Statistic::kMedian,
      .example_limit = "20%",
      .is_side_by_side = true},
     {.name = kReadyTime,
      .heading = "ready",
      .title = "Time until ready (median)",
      .what = "the time until it is as fast as it gets",
      .unit = Unit::kNanoseconds,
      .group = MetricGroup::kStart,
      .statistic = Statistic::kMedian,
      .example_limit = "20%",
      .is_side_by_side = true},
     // Of torch.compile(): the graphs that it made, and the places that it could not put into one.
     {.name = "graphs",
      .heading = "graphs",
      .title = "Graphs compiled",
      .what = "the number of graphs",
      .unit = Unit::kGraphs,
      .group = MetricGroup::kStart,
      .example_limit = "+0",
      .is_side_by_side = true},
     {.name = "graph_breaks",
      .heading = "graph breaks",
      .title = "Graph breaks",
      .what = "the number of graph breaks",
      .unit = Unit::kGraphBreaks,
      .group = MetricGroup::kStart,
      .example_limit = "+0",
      .is_side_by_side = true},
     // How often it compiled a function once more, since a guard had failed.
     {.name = "recompilations",
      .heading = "recompilations",
      .title = "Recompilations",
      .what = "the number of recompilations",
      .unit = Unit::kRecompilations,
      .group = MetricGroup::kStart,
      .example_limit = "+0",
      .is_side_by_side = true},
     // The most memory that LibTorch had in use there.
     {.name = kDevicePeakBytes,
      .heading = "device peak bytes",
      .title = "Peak of bytes on the device",
      .what = "the device's memory",
      .unit = Unit::kBytes,
      .group = MetricGroup::kDevice,
      .example_limit = "1%"},
     // Of all threads, in user mode. Only the instructions repeat well enough for a limit by
     // default.
     {.name = "hw_instructions",
      .heading = "hw instructions",
      .title = "Retired instructions per iteration",
      .what = "the retired instructions",
      .unit = Unit::kInstructions,
      .group = MetricGroup::kHardware,
      .statistic = Statistic::kMin,
      .hard_limit = {.percent = 1},
      .example_limit = "1%",
      .is_side_by_side = true},
     {.name = "hw_cycles",
      .heading = "hw cycles",
      .title = "Cycles per iteration",
      .what = "the cycles",
      .unit = Unit::kCycles,
      .group = MetricGroup::kHardware,
      .statistic = Statistic::kMin,
      .example_limit = "5%"},
     {.name = "hw_branch_misses",
      .heading = "hw branch misses",
      .title = "Branch misses per iteration",
      .what = "the branches that the processor mispredicted",
      .unit = Unit::kBranches,
      .group = MetricGroup::kHardware,
      .statistic = Statistic::kMin,
      .example_limit = "10%"},
     {.name = "hw_cache_misses",
      .heading = "hw cache misses",
      .title = "Cache misses per iteration",
      .what = "the accesses that missed the processor's last-level cache",
      .unit = Unit::kAccesses,
      .group = MetricGroup::kHardware,
      .statistic = Statistic::kMin,
      .example_limit = "10%"},
     {.name = "page_faults",
      .heading = "page faults",
      .title = "Page faults per iteration",
      .what = "the page faults",
      .unit = Unit::kPageFaults,
      .group = MetricGroup::kKernel,
      .statistic = Statistic::kMin,
      .example_limit = "1%"}});

// The part of the table that these groups make up.
constexpr std::span<const Metric> metrics_of(MetricGroup first, MetricGroup last) {
  std::size_t begin = 0;
  while (begin < kMetrics.size() && kMetrics[begin].group < first) ++begin;
  std::size_t end = begin;
  while (end < kMetrics.size() && kMetrics[end].group <= last) ++end;
  return std::span(kMetrics).subspan(begin, end - begin);
}

constexpr std::span<const Metric> metrics_of(MetricGroup group) { return metrics_of(group, group); }

inline constexpr auto kUsualMetrics = metrics_of(MetricGroup::kCounted);
inline constexpr auto kCacheMetrics = metrics_of(MetricGroup::kCache);
inline constexpr auto kBranchMetrics = metrics_of(MetricGroup::kBranch);
inline constexpr auto kStartMetrics = metrics_of(MetricGroup::kStart);
inline constexpr auto kEventMetrics = metrics_of(MetricGroup::kHardware, MetricGroup::kKernel);
inline constexpr auto kTimeMetrics = metrics_of(MetricGroup::kTime, MetricGroup::kKernel);

// Null if none of these has that name.
constexpr const Metric* find_metric(std::string_view name,
                                    std::span<const Metric> among = kMetrics) {
  for (const Metric& metric : among) {
    if (name == metric.name) return &metric;
  }
  return nullptr;
}

constexpr bool is_duration(std::string_view name) {
  // Not by find_metric(): under its sanitizers GCC takes no null pointer in a constant expression.
  for (const Metric& metric : kMetrics) {
    if (name == metric.name) return metric.unit == Unit::kNanoseconds;
  }
  return false;
}

// Returns the name of the metric that has this name or alias; else `word` itself.
std::string metric_name(std::string_view word);

std::vector<std::string> names_of(std::span<const Metric> metrics);

// Those that are shown without --metrics.
std::vector<std::string> default_metrics();

// The words that --metrics takes, with their meanings: each metric, and the word of each group that
// has one.
std::vector<std::pair<std::string, std::span<const Metric>>> metric_words();

}  // namespace instr
