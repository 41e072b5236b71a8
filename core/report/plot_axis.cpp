// The axes of a picture: gnuplot places the ticks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/report/plot.h"

namespace instr {

namespace {

constexpr double kMin = 1e-30;
constexpr double kMax = 1e30;
constexpr double kLinearSpan = 8;   // small values on a wider linear axis all lie at the bottom
constexpr double kFewPowers = 200;  // a span for which powers of ten are too few ticks

struct Extremes {
  double min = 0;
  double max = 0;

  bool are_far_apart() const { return min > 0 && max / min > kLinearSpan; }
};

Extremes find_extremes(const std::vector<double>& values) {
  if (values.empty()) return {};
  auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {*min, *max};
}

bool has_few_powers(const Axis& axis) { return axis.to / axis.from <= kFewPowers; }

// The format of ticks: gnuplot writes %s and %c as the mantissa and its prefix (2.5 k).
std::string tick_format(const Axis& axis) {
  const char* number = "%.1s %c";
  if (axis.is_logarithmic) number = has_few_powers(axis) ? "%.2s %c" : "%.0s %c";
  switch (axis.unit) {
    case AxisUnit::kNanoseconds: return std::string(number) + "s";
    case AxisUnit::kBytes: return std::string(number) + "B";
    case AxisUnit::kRatio: return "%gx";
    case AxisUnit::kParameter: return "%.10g";
    case AxisUnit::kNumber: break;
  }
  return axis.to < 1000 ? "%g" : number;
}

// Ratios and parameters have powers of two; others powers of ten, or 1, 2, 4, 8 times a power of
// ten if there would be too few.
std::string logarithmic_lines(char axis, const Axis& of) {
  const bool is_base_2 = of.unit == AxisUnit::kRatio || of.unit == AxisUnit::kParameter;
  std::string text = fmt::format("set logscale {} {}\n", axis, is_base_2 ? 2 : 10);
  if (is_base_2 || !has_few_powers(of)) return text;
  const double first = std::pow(10, std::floor(std::log10(plotted(of, of.from))));
  return text + fmt::format("set {}tics {},2\nset m{}tics 1\n", axis, first, axis);
}

}  // namespace

bool is_drawable(double value) { return value == 0 || (value >= kMin && value <= kMax); }

Axis value_axis(std::string title, AxisUnit unit, const std::vector<double>& values) {
  Extremes extremes = find_extremes(values);
  if (!extremes.are_far_apart()) return bar_axis(std::move(title), unit, values);
  return {std::move(title), unit, true, extremes.min / 1.5, extremes.max * 1.5};
}

Axis bar_axis(std::string title, AxisUnit unit, const std::vector<double>& values) {
  double max = find_extremes(values).max;
  return {std::move(title), unit, false, 0, max > 0 ? max * 1.1 : 1};
}

Axis parameter_axis(std::string title, const std::vector<double>& values) {
  Extremes extremes = find_extremes(values);
  Axis axis{std::move(title), AxisUnit::kParameter, extremes.are_far_apart(), 0, 0};
  double around = 0.05 * (extremes.max - extremes.min);
  axis.from = axis.is_logarithmic ? extremes.min / 1.3 : extremes.min - around;
  axis.to = axis.is_logarithmic ? extremes.max * 1.3 : extremes.max + around;
  return axis;
}

std::string scale_lines(char axis, const Axis& of) {
  std::string text =
      fmt::format("set {0}range [{1}:{2}]\nset format {0} '{3}'\nset {0}tics nomirror scale 0.5\n",
                  axis, plotted(of, of.from), plotted(of, of.to), tick_format(of));
  return of.is_logarithmic ? text + logarithmic_lines(axis, of) : text;
}

double plotted(const Axis& axis, double value) {
  return axis.unit == AxisUnit::kNanoseconds ? value / 1e9 : value;
}

}  // namespace instr
