// The names of what is measured, everywhere: results, limits, --metrics, reports. All values are
// for each iteration.
#pragma once

#include <array>
#include <span>

namespace instr {

// In the order that reports show them. The first four are always counted (Counted::metrics); the
// others where a simulation was asked for:
//   data_reads, data_writes   accesses to memory; one that changes a place is a write
//   i1_misses, d1_misses      instructions' and data's accesses that the first level did not answer
//   l1_hits, ll_hits          accesses, of instructions and data, that the first level answered,
//                             and that the last level did
//   ram_hits                  accesses that neither answered: the last level's misses
//   estimated_cycles          l1_hits + 5 ll_hits + 35 ram_hits, Itamar Turner-Trauring's formula
//                             (pythonspeed.com/articles/consistent-benchmarking-in-ci), which iai
//                             and those that came after it use, too
//   branches                  conditional branches, and indirect jumps and calls
//   mispredictions            those of them that the predictor took for going elsewhere
//   wall, cpu                 nanoseconds, medians of repetitions without Valgrind: until the
//                             statement and what it left to the device are done; of the thread
//                             that runs it
//   first_result, ready       nanoseconds, medians of fresh processes: from a text to its first
//                             result, and until it is as fast as it gets
//   device_peak_bytes         the most that LibTorch had in use on the device
inline constexpr std::array<const char*, 19> kMetrics{
    "ir",          "allocs",           "alloc_bytes", "peak_bytes",       "data_reads",
    "data_writes", "i1_misses",        "d1_misses",   "l1_hits",          "ll_hits",
    "ram_hits",    "estimated_cycles", "branches",    "mispredictions",   "wall",
    "cpu",         "first_result",     "ready",       "device_peak_bytes"};

inline constexpr std::span<const char* const> kUsualMetrics{kMetrics.data(), 4};
inline constexpr std::span<const char* const> kCacheMetrics{kMetrics.data() + 4, 8};
inline constexpr std::span<const char* const> kBranchMetrics{kMetrics.data() + 12, 2};
inline constexpr std::span<const char* const> kStartMetrics{kMetrics.data() + 16, 2};
inline constexpr std::span<const char* const> kTimeMetrics{kMetrics.data() + 14, 5};

}  // namespace instr
