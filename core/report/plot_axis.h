// Axes of a picture: what they span, and in what unit. gnuplot places the ticks. Pure.
#pragma once

#include <string>
#include <vector>

namespace instr {

enum class AxisUnit { kNumber, kNanoseconds, kBytes, kRatio, kParameter };

struct Axis {
  std::string title;  // with its unit, unless that stands at each tick
  AxisUnit unit = AxisUnit::kNumber;
  bool is_logarithmic = false;
  double from = 0;
  double to = 1;
};

// Whether a value can stand on an axis: finite and neither negative nor of a size that nothing
// measured has.
bool is_drawable(double value);

// For values that are drawable: logarithmic where the greatest is more than 8 times the least and
// none is 0, else from 0.
Axis value_axis(std::string title, AxisUnit unit, const std::vector<double>& values);

// From 0, whatever the values: a bar's length means something.
Axis bar_axis(std::string title, AxisUnit unit, const std::vector<double>& values);

// For the values of a parameter, which are finite: logarithmic as value_axis() is, else just around
// them.
Axis parameter_axis(std::string title, const std::vector<double>& values);

// The lines of gnuplot that set the axis `x` or `y`: its range, scale and ticks.
std::string scale_lines(char axis, const Axis& of);

// A value on the axis, as gnuplot gets it: times in seconds, which it writes with their prefix.
double plotted(const Axis& axis, double value);

}  // namespace instr
