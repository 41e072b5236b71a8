// Wall times of a variant: what repetitions took, and what can be said of them and of two such
// sets.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace instr {

// One figure for each repetition, in the order they ran; nanoseconds for each iteration.
struct Timing {
  std::vector<double> wall;      // the statement and the work it left to the device
  std::vector<double> cpu;       // of the thread that ran the statement
  std::uint64_t iterations = 0;  // of each repetition; of the first, where each has its own process
  std::optional<std::uint64_t> device_peak_bytes;
  // One figure for each fresh process, nanoseconds: from the text until the statement has run once,
  // and until what prepares itself in its first runs is done with that. Empty: not asked for.
  std::vector<double> first_result = {};
  std::vector<double> ready = {};
  // Cores that other processes used meanwhile, on average; absent where that is not known.
  std::optional<double> others = {};

  bool operator==(const Timing&) const = default;
};

// The metrics that are medians of such figures, in nanoseconds.
struct RepeatedTime {
  const char* metric;
  std::vector<double> Timing::*values;
};
inline constexpr std::array<RepeatedTime, 4> kRepeatedTimes{
    {{"wall", &Timing::wall},
     {"cpu", &Timing::cpu},
     {"first_result", &Timing::first_result},
     {"ready", &Timing::ready}}};

// Null where the metric is none of these.
const RepeatedTime* repeated_time(const std::string& metric);

// 0 of none; the mean of the middle two of an even number.
double median(std::vector<double> values);

// Of numbers above 0; nothing of none.
std::optional<double> geometric_mean(const std::vector<double>& values);

// The middle half of the values lies between them.
struct Quartiles {
  double lower = 0;
  double upper = 0;

  bool operator==(const Quartiles&) const = default;
};

// Nothing of less than four values.
std::optional<Quartiles> quartiles(std::vector<double> values);

// Half the distance between the quartiles, as a share of the median: 0.02 is "± 2%". 0 of less than
// four values.
double relative_spread(std::vector<double> values);

// Others that use more than this disturb what is timed; the kernel's own work takes less.
inline constexpr double kBusyCores = 0.2;

// Adds the medians of what there is, and kDevicePeakBytes where there is one.
void add_times(std::map<std::string, double>& metrics, const Timing& timing);

}  // namespace instr
