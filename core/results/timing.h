// Wall times of a variant and their statistics, and times by operator, from the events of
// LibTorch's profiler.
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
  // For each metric with a Statistic the values per iteration, one for each repetition or fresh
  // process, in the order they ran.
  std::map<std::string, std::vector<double>, std::less<>> values = {};
  std::uint64_t iterations = 0;  // each repetition's; the first's if each has its own process
  std::optional<std::uint64_t> device_peak_bytes = {};
  // Cores that other processes used at the same time, on average, if known.
  std::optional<double> others = {};
  // The wall times of eager that were measured alternately with these in one process, if its own
  // measurement was another one.
  std::vector<double> eager = {};

  // The values of a metric; empty if it was not timed.
  const std::vector<double>& of(std::string_view metric) const;

  bool operator==(const Timing&) const = default;
};

// The median, which is 0 without values; the mean of the middle two of an even number.
double median(std::vector<double> values);

// The geometric mean of numbers above 0; nothing without numbers.
std::optional<double> geometric_mean(const std::vector<double>& values);

// The bounds of the middle half of the values.
struct Quartiles {
  double lower = 0;
  double upper = 0;

  bool operator==(const Quartiles&) const = default;
};

// The quartiles; nothing for fewer than four values.
std::optional<Quartiles> quartiles(std::vector<double> values);

// Other processes that use more than this disturb times; the kernel's own work takes less.
inline constexpr double kBusyCores = 0.2;

// Adds the values of kRelativeWall: each wall time over eager's in the same round. Nothing if the
// numbers of rounds differ.
void add_relative(Timing& timing, const std::vector<double>& eager);

// Replaces the times until ready, but for kReadyTime itself, by what they have beyond one iteration
// at the final speed: kCompileTime and the like.
void replace_ready_times(std::map<std::string, double>& metrics);

// Adds the statistic of each metric's values, and kDevicePeakBytes if known.
void add_times(std::map<std::string, double>& metrics, const Timing& timing);

// A call of an operator, or a kernel of a device; nanoseconds since the first one began.
struct OperatorCall {
  std::string name;
  std::uint64_t start = 0;
  std::uint64_t duration = 0;
  std::uint64_t thread = 0;
  bool is_on_device = false;
};

struct OperatorTime {
  std::string name;
  bool is_on_device = false;
  std::uint64_t calls = 0;
  std::uint64_t self = 0;   // nanoseconds, without the operators it calls
  std::uint64_t total = 0;  // includes the operators it calls; recursive calls: the outermost

  bool operator==(const OperatorTime&) const = default;
};

// The profiler's range around each graph of torch.compile(), as instr_compiler.py names it.
inline constexpr const char* kGraphRange = "instr_graph";

// The shares of operators, and of their time, inside the graphs of torch.compile(); operators that
// others call are part of these. The time is that of kernels, if a device has run any.
struct Coverage {
  double operators = 0;
  double time = 0;
};

// Nothing without operators. `calls`: ordered by start.
std::optional<Coverage> find_coverage(const std::vector<OperatorCall>& calls);

// Sums the times by name and device; the greatest self time first.
std::vector<OperatorTime> times_by_operator(const std::vector<OperatorCall>& calls);

}  // namespace instr
