// The metrics: one entry each. Results, limits, --metrics, reports, plots and the JSON Schemas are
// derived from this table. Every value is per iteration, and for every metric less is better.
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
  kRatio,
  kPageFaults,
  kGraphs,
  kGraphBreaks,
  kRecompilations,
  kDeviceEvents,  // launches, copies and the like
};

const char* to_string(Unit unit);  // "instructions", "allocs", ..., "ns"

// Metrics that the same kind of run provides. Groups up to kBranch are counted under Valgrind, the
// others are measured without it.
enum class MetricGroup {
  kCounted,   // every count
  kCompile,   // counts of statements that compile
  kHost,      // counts of a device's host side
  kCache,     // simulated caches
  kBranch,    // a simulated branch predictor
  kTime,      // repetitions
  kStart,     // fresh processes
  kDevice,    // repetitions on a device
  kXla,       // repetitions on XLA
  kHardware,  // repetitions with the processor's counters
  kKernel,    // repetitions with the kernel's counters
};

struct MetricGroupFacts {
  MetricGroup group;
  const char* how;             // the way its metrics are obtained, shown by --help
  const char* word = nullptr;  // the name of the whole group in --metrics; null: none
};

inline constexpr auto kMetricGroups = std::to_array<MetricGroupFacts>(
    {{.group = MetricGroup::kCounted, .how = "counted"},
     {.group = MetricGroup::kCompile, .how = "counted"},
     {.group = MetricGroup::kHost, .how = "counted with --host-only", .word = "host"},
     {.group = MetricGroup::kCache, .how = "simulated", .word = "cache"},
     {.group = MetricGroup::kBranch, .how = "simulated", .word = "branch"},
     {.group = MetricGroup::kTime, .how = "without Valgrind"},
     {.group = MetricGroup::kStart, .how = "without Valgrind"},
     {.group = MetricGroup::kDevice, .how = "without Valgrind"},
     {.group = MetricGroup::kXla, .how = "reported by PyTorch/XLA", .word = "xla"},
     {.group = MetricGroup::kHardware, .how = "counted by the processor", .word = "hw"},
     {.group = MetricGroup::kKernel, .how = "counted by the kernel"}});

// Summarizes a metric's values of several repetitions or fresh processes.
enum class Statistic {
  kNone,  // there is a single value
  kMedian,
  kMin,  // suits events, to which disturbances only add
};

struct Metric {
  const char* name;                    // the name in results, limits and --metrics
  const char* alias = nullptr;         // another name in options and files
  const char* pytorch_name = nullptr;  // the name in the files of PyTorch's own benchmarks
  const char* heading;                 // the heading of its column in a table
  const char* title;                   // the title of its axis in a plot
  const char* what;                    // the words in a sentence: "limit of ..."
  Unit unit;
  MetricGroup group;
  Statistic statistic = Statistic::kNone;
  Limit hard_limit = {};  // the default
  Limit soft_limit = {};
  const char* example_limit;     // an example for a definition, shown in messages
  bool is_default = false;       // shown without --metrics
  bool is_side_by_side = false;  // has a column for each variant of a benchmark
};

// Metrics that the code refers to by name.
inline constexpr const char* kInstructions = "instructions";  // the count itself
inline constexpr const char* kCompileInstructions = "compile_instructions";
inline constexpr const char* kPeakBytes = "peak_bytes";
inline constexpr const char* kWall = "wall";
inline constexpr const char* kCpu = "cpu";
inline constexpr const char* kRelativeWall = "relative_wall";
inline constexpr const char* kFirstResultTime = "first_result";
inline constexpr const char* kReadyTime = "ready";
inline constexpr const char* kReadyCpu = "ready_cpu";  // the name in replies of workers
inline constexpr const char* kCompileTime = "compile_time";
inline constexpr const char* kCompileCpu = "compile_cpu_time";
// For people, not in the table: with the cache that an earlier compilation has filled, the times in
// operators and kernels, and the shares of operators and of their time in graphs.
inline constexpr const char* kWarmCompileTime = "warm_compile_time";
inline constexpr const char* kWarmCompileCpu = "warm_compile_cpu_time";
inline constexpr const char* kOperatorsCpu = "operators_cpu";
inline constexpr const char* kOperatorsDevice = "operators_device";
inline constexpr const char* kCoverageOperators = "coverage_operators";
inline constexpr const char* kCoverageTime = "coverage_time";
inline constexpr const char* kGraphCount = "graphs";
inline constexpr const char* kGraphBreaks = "graph_breaks";
inline constexpr const char* kDevicePeakBytes = "device_peak_bytes";
inline constexpr const char* kTraceTime = "trace_time";
inline constexpr const char* kXlaWait = "xla_wait";  // the name in replies of workers
// The prefix of a metric of kXla until it is ready, instead of per iteration.
inline constexpr std::string_view kReadyPrefix = "ready_";

constexpr Metric make_metric(MetricGroup group, Unit unit, Statistic statistic, const char* name,
                             const char* heading, const char* title, const char* what,
                             const char* example_limit, bool is_side_by_side = false) {
  return {.name = name,
          .heading = heading,
          .title = title,
          .what = what,
          .unit = unit,
          .group = group,
          .statistic = statistic,
          .example_limit = example_limit,
          .is_side_by_side = is_side_by_side};
}

constexpr Metric make_host_metric(Unit unit, const char* name, const char* heading,
                                  const char* title, const char* what, bool is_default = false) {
  return {.name = name,
          .heading = heading,
          .title = title,
          .what = what,
          .unit = unit,
          .group = MetricGroup::kHost,
          .hard_limit = {.absolute = 0},
          .example_limit = "+0",
          .is_default = is_default};
}

// In the order of reports, each group together.
//
// Counts are exact, so no limit needs a margin for noise. A worthwhile change may cost 0.5% of the
// instructions, which is far less than any other method can detect; an additional allocation never
// happens by chance. The soft limits show the creep of many merges that each stay below the hard
// limit.
inline constexpr auto kMetrics = std::to_array<Metric>(
    {{.name = kInstructions,
      .alias = "ir",
      .pytorch_name = "instruction_count",
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
     // Executed between CompileTimeInstructionCounter's start() and end() in torch._dynamo.utils,
     // as PyTorch's own benchmarks of compiling count.
     {.name = kCompileInstructions,
      .pytorch_name = "compile_time_instruction_count",
      .heading = "compile instructions",
      .title = "Instructions of compiling",
      .what = "the instructions that compiling executes",
      .unit = Unit::kInstructions,
      .group = MetricGroup::kCompile,
      .hard_limit = {.percent = 0.1},
      .example_limit = "0.1%",
      .is_default = true,
      .is_side_by_side = true},
     make_host_metric(Unit::kDeviceEvents, "launches", "launches", "Kernels launched per iteration",
                      "the number of launches", /*is_default=*/true),
     make_host_metric(Unit::kDeviceEvents, "device_copies", "copies", "Copies per iteration",
                      "the number of copies to, from and on the device", /*is_default=*/true),
     make_host_metric(Unit::kBytes, "device_copy_bytes", "copied bytes",
                      "Bytes copied per iteration", "the bytes copied"),
     make_host_metric(Unit::kDeviceEvents, "syncs", "syncs", "Synchronizations per iteration",
                      "the number of synchronizations", /*is_default=*/true),
     make_host_metric(Unit::kDeviceEvents, "library_calls", "library calls",
                      "Calls of CUDA's libraries per iteration",
                      "the number of calls of CUDA's libraries", /*is_default=*/true),
     make_host_metric(Unit::kAllocations, "device_allocs", "device allocs",
                      "Allocations of the device's memory per iteration",
                      "the number of allocations of the device's memory", /*is_default=*/true),
     make_host_metric(Unit::kBytes, "device_alloc_bytes", "device bytes",
                      "Bytes of the device's memory allocated per iteration",
                      "the bytes of the device's memory allocated"),
     make_host_metric(Unit::kDeviceEvents, "event_records", "event records",
                      "Events recorded per iteration", "the number of events recorded"),
     make_host_metric(Unit::kDeviceEvents, "graph_launches", "graph launches",
                      "Graphs launched per iteration", "the number of graph launches"),
     // An access that changes a place counts as a write.
     make_metric(MetricGroup::kCache, Unit::kAccesses, Statistic::kNone, "data_reads", "data reads",
                 "Data reads per iteration", "the number of data reads", "1%"),
     make_metric(MetricGroup::kCache, Unit::kAccesses, Statistic::kNone, "data_writes",
                 "data writes", "Data writes per iteration", "the number of data writes", "1%"),
     make_metric(MetricGroup::kCache, Unit::kAccesses, Statistic::kNone, "i1_misses", "i1 misses",
                 "L1 instruction misses per iteration",
                 "the number of instruction fetches that missed the first-level cache", "1%"),
     make_metric(MetricGroup::kCache, Unit::kAccesses, Statistic::kNone, "d1_misses", "d1 misses",
                 "L1 data misses per iteration",
                 "the number of data accesses that missed the first-level cache", "1%"),
     // Hits of instruction fetches and data accesses.
     make_metric(MetricGroup::kCache, Unit::kAccesses, Statistic::kNone, "l1_hits", "l1 hits",
                 "L1 hits per iteration", "the number of accesses that hit the first-level caches",
                 "1%"),
     make_metric(MetricGroup::kCache, Unit::kAccesses, Statistic::kNone, "ll_hits", "ll hits",
                 "Last-level hits per iteration",
                 "the number of accesses that hit the last-level cache", "1%"),
     make_metric(MetricGroup::kCache, Unit::kAccesses, Statistic::kNone, "ram_hits", "ram hits",
                 "Accesses to memory per iteration",
                 "the number of accesses that missed all caches", "1%"),
     // l1_hits + 5 ll_hits + 35 ram_hits, Itamar Turner-Trauring's formula
     // (pythonspeed.com/articles/consistent-benchmarking-in-ci), which iai and its successors use.
     make_metric(MetricGroup::kCache, Unit::kCycles, Statistic::kNone, "estimated_cycles",
                 "estimated cycles", "Estimated cycles per iteration", "the estimated cycles",
                 "1%"),
     // Conditional branches, and indirect jumps and calls.
     make_metric(MetricGroup::kBranch, Unit::kBranches, Statistic::kNone, "branches", "branches",
                 "Branches per iteration", "the number of branches", "1%"),
     make_metric(MetricGroup::kBranch, Unit::kBranches, Statistic::kNone, "mispredictions",
                 "mispredictions", "Mispredicted branches per iteration",
                 "the number of mispredicted branches", "1%"),
     // Wall time until the statement and the work that it left to the device are done.
     make_metric(MetricGroup::kTime, Unit::kNanoseconds, Statistic::kMedian, kWall, "wall time",
                 "Wall time per iteration (median)", "the wall time", "5%",
                 /*is_side_by_side=*/true),
     // CPU time of the thread that runs the statement.
     make_metric(MetricGroup::kTime, Unit::kNanoseconds, Statistic::kMedian, kCpu, "cpu",
                 "CPU time per iteration (median)", "the CPU time", "5%"),
     // Wall time over eager's in the same round: a load on the machine slows both.
     make_metric(MetricGroup::kTime, Unit::kRatio, Statistic::kMedian, kRelativeWall, "relative",
                 "Wall time in units of eager's (median)", "the wall time in units of eager's",
                 "5%", /*is_side_by_side=*/true),
     make_metric(MetricGroup::kStart, Unit::kNanoseconds, Statistic::kMedian, kFirstResultTime,
                 "first result", "Time to the first result (median)",
                 "the time from a text to its first result", "20%", /*is_side_by_side=*/true),
     make_metric(MetricGroup::kStart, Unit::kNanoseconds, Statistic::kMedian, kReadyTime, "ready",
                 "Time until ready (median)", "the time until it is as fast as it gets", "20%",
                 /*is_side_by_side=*/true),
     // Until it is ready, beyond one iteration at the final speed; of the process and those that it
     // starts.
     make_metric(MetricGroup::kStart, Unit::kNanoseconds, Statistic::kNone, kCompileTime,
                 "compile time", "Compile time", "the compile time", "20%",
                 /*is_side_by_side=*/true),
     make_metric(MetricGroup::kStart, Unit::kNanoseconds, Statistic::kNone, kCompileCpu,
                 "compile CPU", "CPU time of compiling", "the CPU time of compiling", "10%",
                 /*is_side_by_side=*/true),
     // Reported by torch.compile(): graphs, places that no graph could contain, and compilations of
     // a function again because a guard failed.
     make_metric(MetricGroup::kStart, Unit::kGraphs, Statistic::kNone, kGraphCount, "graphs",
                 "Graphs compiled", "the number of graphs", "+0", /*is_side_by_side=*/true),
     {.name = kGraphBreaks,
      .heading = "graph breaks",
      .title = "Graph breaks",
      .what = "the number of graph breaks",
      .unit = Unit::kGraphBreaks,
      .group = MetricGroup::kStart,
      .hard_limit = {.absolute = 0},
      .example_limit = "+0",
      .is_side_by_side = true},
     {.name = "recompilations",
      .heading = "recompilations",
      .title = "Recompilations",
      .what = "the number of recompilations",
      .unit = Unit::kRecompilations,
      .group = MetricGroup::kStart,
      .hard_limit = {.absolute = 0},
      .example_limit = "+0",
      .is_side_by_side = true},
     // The maximum memory that LibTorch used on the device.
     {.name = kDevicePeakBytes,
      .heading = "device peak bytes",
      .title = "Peak of bytes on the device",
      .what = "the device's memory",
      .unit = Unit::kBytes,
      .group = MetricGroup::kDevice,
      .example_limit = "1%"},
     // Wall time without that of waiting for XLA, which then runs what the statement recorded.
     make_metric(MetricGroup::kXla, Unit::kNanoseconds, Statistic::kMedian, kTraceTime,
                 "trace time", "Time to trace per iteration (median)", "the time to trace", "5%",
                 /*is_side_by_side=*/true),
     make_metric(MetricGroup::kXla, Unit::kNanoseconds, Statistic::kMedian, "xla_compile_time",
                 "XLA compile time", "Time in which XLA compiles per iteration (median)",
                 "the time in which XLA compiles", "5%", /*is_side_by_side=*/true),
     make_metric(MetricGroup::kXla, Unit::kGraphs, Statistic::kMedian, "xla_compilations",
                 "XLA compilations", "Graphs that XLA compiles per iteration (median)",
                 "the number of graphs that XLA compiles", "+0", /*is_side_by_side=*/true),
     make_metric(MetricGroup::kXla, Unit::kNanoseconds, Statistic::kMedian, "xla_execute_time",
                 "XLA execute time", "Time in which XLA executes per iteration (median)",
                 "the time in which XLA executes", "5%", /*is_side_by_side=*/true),
     make_metric(MetricGroup::kXla, Unit::kGraphs, Statistic::kMedian, "xla_executions",
                 "XLA executions", "Graphs that XLA executes per iteration (median)",
                 "the number of graphs that XLA executes", "+0", /*is_side_by_side=*/true),
     // Events of all threads in user mode. Only the instructions repeat well enough for a limit by
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
     make_metric(MetricGroup::kHardware, Unit::kCycles, Statistic::kMin, "hw_cycles", "hw cycles",
                 "Cycles per iteration", "the cycles", "5%"),
     make_metric(MetricGroup::kHardware, Unit::kBranches, Statistic::kMin, "hw_branch_misses",
                 "hw branch misses", "Branch misses per iteration",
                 "the branches that the processor mispredicted", "10%"),
     make_metric(MetricGroup::kHardware, Unit::kAccesses, Statistic::kMin, "hw_cache_misses",
                 "hw cache misses", "Cache misses per iteration",
                 "the accesses that missed the processor's last-level cache", "10%"),
     make_metric(MetricGroup::kKernel, Unit::kPageFaults, Statistic::kMin, "page_faults",
                 "page faults", "Page faults per iteration", "the page faults", "1%")});

// Returns the metrics of these consecutive groups.
constexpr std::span<const Metric> metrics_of(MetricGroup first, MetricGroup last) {
  std::size_t begin = 0;
  while (begin < kMetrics.size() && kMetrics[begin].group < first) ++begin;
  std::size_t end = begin;
  while (end < kMetrics.size() && kMetrics[end].group <= last) ++end;
  return std::span(kMetrics).subspan(begin, end - begin);
}

constexpr std::span<const Metric> metrics_of(MetricGroup group) { return metrics_of(group, group); }

inline constexpr auto kUsualMetrics = metrics_of(MetricGroup::kCounted, MetricGroup::kHost);
inline constexpr auto kCacheMetrics = metrics_of(MetricGroup::kCache);
inline constexpr auto kBranchMetrics = metrics_of(MetricGroup::kBranch);
inline constexpr auto kStartMetrics = metrics_of(MetricGroup::kStart);
inline constexpr auto kXlaMetrics = metrics_of(MetricGroup::kXla);
inline constexpr auto kEventMetrics = metrics_of(MetricGroup::kHardware, MetricGroup::kKernel);
inline constexpr auto kTimeMetrics = metrics_of(MetricGroup::kTime, MetricGroup::kKernel);

// Returns null if none of these metrics has that name.
constexpr const Metric* find_metric(std::string_view name,
                                    std::span<const Metric> among = kMetrics) {
  for (const Metric& metric : among) {
    if (name == metric.name) return &metric;
  }
  return nullptr;
}

constexpr bool is_duration(std::string_view name) {
  if (name.starts_with(kReadyPrefix)) name.remove_prefix(kReadyPrefix.size());
  // Not by find_metric(): under its sanitizers GCC takes no null pointer in a constant expression.
  for (const Metric& metric : kMetrics) {
    if (name == metric.name) return metric.unit == Unit::kNanoseconds;
  }
  for (const char* other : {kWarmCompileTime, kWarmCompileCpu, kOperatorsCpu, kOperatorsDevice}) {
    if (name == other) return true;
  }
  return false;
}

// Returns the name of the metric that has this name or alias; else `word` itself.
std::string metric_name(std::string_view word);

std::vector<std::string> names_of(std::span<const Metric> metrics);

// Returns the metrics that are shown without --metrics.
std::vector<std::string> default_metrics();

// Returns the words of --metrics with their meanings: each metric, and each group that has a word.
std::vector<std::pair<std::string, std::span<const Metric>>> metric_words();

}  // namespace instr
