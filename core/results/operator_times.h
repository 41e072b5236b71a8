// Times by operator, from the events of LibTorch's profiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

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

// Sums the times by name and device; the greatest self time first.
std::vector<OperatorTime> times_by_operator(const std::vector<OperatorCall>& calls);

}  // namespace instr
