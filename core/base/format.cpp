#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace instr {

namespace {

// Above this, doubles are no longer exact integers, and printing all digits would claim too much.
constexpr double kLargestExact = 9007199254740992.0;  // 2^53

std::string group_digits(std::string digits) {
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

}  // namespace

std::string format_count(double value) {
  if (!std::isfinite(value)) return "-";
  if (std::fabs(value) > kLargestExact) return fmt::format("{:.6e}", value);
  bool integral = value == std::trunc(value);
  std::string text = fmt::format("{:.{}f}", std::fabs(value), integral ? 0 : 1);
  std::size_t point = std::min(text.find('.'), text.size());
  std::string grouped = group_digits(text.substr(0, point)) + text.substr(point);
  return value < 0 ? "-" + grouped : grouped;
}

std::string format_time(double nanoseconds) {
  if (!std::isfinite(nanoseconds) || nanoseconds < 0) return "-";
  constexpr const char* kUnits[] = {"ns", "\xC2\xB5s", "ms", "s"};
  std::size_t unit = 0;
  // A value that would round to 1,000 becomes 1 of the next unit.
  for (; unit + 1 < std::size(kUnits) && nanoseconds >= 999.5; ++unit) nanoseconds /= 1000;
  int decimals = nanoseconds < 9.995 ? 2 : nanoseconds < 99.95 ? 1 : 0;
  if (nanoseconds >= 999.5) return format_count(std::round(nanoseconds)) + " s";
  return fmt::format("{:.{}f} {}", nanoseconds, decimals, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 0.0005) return "0 s";
  if (seconds < 0.995) return fmt::format("{:.2g} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  auto whole = static_cast<long long>(std::llround(std::min(seconds, 3.6e9)));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(static_cast<double>(count)), noun,
                     count == 1 ? "" : "s");
}

}  // namespace instr
