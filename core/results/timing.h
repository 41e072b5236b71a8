// Wall times of a variant: what repetitions took, and what can be said of them and of two such
// sets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

struct Timing {
  // Of each metric with a Statistic its values per iteration, one for each repetition, or for each
  // fresh process, in the order they ran.
  std::map<std::string, std::vector<double>, std::less<>> values = {};
  std::uint64_t iterations = 0;  // of each repetition; of the first, where each has its own process
  std::optional<std::uint64_t> device_peak_bytes = {};
  // Cores that other processes used meanwhile, on average; absent where that is not known.
  std::optional<double> others = {};

  // Of one metric; empty if there are none.
  const std::vector<double>& of(std::string_view metric) const;

  bool operator==(const Timing&) const = default;
};

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

// Others that use more than this disturb what is timed; the kernel's own work takes less.
inline constexpr double kBusyCores = 0.2;

// Adds the statistic of each metric's values, and kDevicePeakBytes where there is one.
void add_times(std::map<std::string, double>& metrics, const Timing& timing);

}  // namespace instr
