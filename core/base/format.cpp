#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace instr {

namespace {

// Above this, doubles are no longer exact integers, and printing all digits would claim too much.
constexpr double kLargestExact = 9007199254740992.0;  // 2^53

std::string group_digits(std::string digits) {
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

struct Scale {
  double factor;
  const char* suffix;
};

// Three significant digits or so: 1.23, 12.3, 123.
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string without_trailing_zero(std::string text) {
  if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
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

std::string format_si(double value) {
  static constexpr std::array<Scale, 4> kScales{
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  double size = std::fabs(value);
  if (!std::isfinite(value)) return "-";
  for (std::size_t i = 0; i < kScales.size(); ++i) {
    // 999,999 is "1.00 M", not "1000 k".
    double least = kScales[i].factor * (kScales[i].factor > 1e3 ? 0.9995 : 1);
    if (size < least) continue;
    return (value < 0 ? "-" : "") + three_digits(size / kScales[i].factor) + kScales[i].suffix;
  }
  return format_count(value);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<Scale, 4> kScales{
      {{1099511627776.0, " TiB"}, {1073741824.0, " GiB"}, {1048576.0, " MiB"}, {1024.0, " KiB"}}};
  double size = std::fabs(bytes);
  if (!std::isfinite(bytes)) return "-";
  for (const Scale& scale : kScales) {
    if (size < scale.factor) continue;
    std::string text = without_trailing_zero(fmt::format("{:.1f}", size / scale.factor));
    return (bytes < 0 ? "-" : "") + text + scale.suffix;
  }
  return format_count(bytes) + " B";
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
