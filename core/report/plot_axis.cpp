#include "core/report/plot_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/format.h"

namespace instr {

namespace {

constexpr double kLeast = 1e-30;
constexpr double kMost = 1e30;
constexpr double kLinearSpan = 8;  // beyond it the small ones lie all at the bottom
constexpr double kMostTicks = 9;
constexpr double kLabelShare = 0.08;  // of the axis that a label takes

struct Extremes {
  double least = 0;
  double most = 0;

  bool are_far_apart() const { return least > 0 && most / least > kLinearSpan; }
};

Extremes extremes_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, *most};
}

// "10.0 µs" -> "10 µs": what stands at a tick is round.
std::string without_zeros(std::string text) {
  std::size_t end = std::min(text.find(' '), text.size());
  std::size_t point = text.find('.');
  if (point >= end) return text;
  std::size_t last = text.find_last_not_of('0', end - 1);
  std::size_t kept = last == point ? point : last + 1;
  return text.erase(kept, end - kept);
}

std::string label_of(double value, AxisUnit unit) {
  if (value == 0) return "0";
  switch (unit) {
    case AxisUnit::kNanoseconds:
      return value < 1 ? fmt::format("{:g} ns", value) : without_zeros(format_time(value));
    case AxisUnit::kBytes: return format_bytes(value);
    case AxisUnit::kRatio: return fmt::format("{:g}x", value);
    case AxisUnit::kNumber: break;
  }
  return value < 1000 || value >= 1e15 ? fmt::format("{:g}", value)
                                       : without_zeros(format_si(value));
}

// 1, 2 or 5 times a power of ten, or a power of two, so that there are few enough ticks.
double step_for(double span, AxisUnit unit) {
  double least = span / kMostTicks;
  if (unit == AxisUnit::kBytes) return std::exp2(std::max(0.0, std::ceil(std::log2(least))));
  double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

void add_linear_ticks(Axis& axis, AxisUnit unit) {
  double step = step_for(axis.to - axis.from, unit);
  double first = std::ceil(axis.from / step);
  for (double i = first; i * step <= axis.to && i < first + 2 * kMostTicks; ++i) {
    axis.ticks.push_back({i * step, label_of(i * step, unit)});
  }
}

void add_tick_within(Axis& axis, double position, AxisUnit unit) {
  if (position < axis.from || position > axis.to) return;
  axis.ticks.push_back({position, label_of(position, unit)});
}

// Powers of ten (of bytes: of two), all or every so many; of ten with 2 and 5 where there are few.
void add_logarithmic_ticks(Axis& axis, AxisUnit unit) {
  double base = unit == AxisUnit::kBytes ? 2 : 10;
  double first = std::floor(std::log(axis.from) / std::log(base));
  double count = std::log(axis.to / axis.from) / std::log(base);
  double stride = std::max(1.0, std::ceil(count / kMostTicks));
  bool has_room = base == 10 && count < 3;
  for (double power = stride * std::floor(first / stride); power <= first + count + 1;
       power += stride) {
    double position = std::pow(base, power);
    add_tick_within(axis, position, unit);
    if (!has_room) continue;
    add_tick_within(axis, 2 * position, unit);
    add_tick_within(axis, 5 * position, unit);
  }
}

}  // namespace

bool is_drawable(double value) { return value == 0 || (value >= kLeast && value <= kMost); }

double share_at(const Axis& axis, double position) {
  return axis.is_logarithmic ? std::log(position / axis.from) / std::log(axis.to / axis.from)
                             : (position - axis.from) / (axis.to - axis.from);
}

Axis value_axis(std::string title, AxisUnit unit, const std::vector<double>& values) {
  Extremes extremes = extremes_of(values);
  if (!extremes.are_far_apart()) return bar_axis(std::move(title), unit, values);
  Axis axis{std::move(title), true, extremes.least / 1.5, extremes.most * 1.5, {}};
  add_logarithmic_ticks(axis, unit);
  return axis;
}

Axis bar_axis(std::string title, AxisUnit unit, const std::vector<double>& values) {
  double most = extremes_of(values).most;
  Axis axis{std::move(title), false, 0, most > 0 ? most * 1.1 : 1, {}};
  add_linear_ticks(axis, unit);
  return axis;
}

Axis parameter_axis(std::string title, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  Extremes extremes = extremes_of(values);
  Axis axis{std::move(title), extremes.are_far_apart(), 0, 0, {}};
  double around = 0.05 * (extremes.most - extremes.least);
  axis.from = axis.is_logarithmic ? extremes.least / 1.3 : extremes.least - around;
  axis.to = axis.is_logarithmic ? extremes.most * 1.3 : extremes.most + around;
  for (double value : values) {
    bool has_room =
        axis.ticks.empty() ||
        share_at(axis, value) - share_at(axis, axis.ticks.back().position) >= kLabelShare;
    if (has_room) axis.ticks.push_back({value, fmt::format("{}", value)});
  }
  return axis;
}

}  // namespace instr
