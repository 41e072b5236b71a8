// Axes of a picture: what they span, and the places on them that have a label. Pure.
#pragma once

#include <string>
#include <vector>

namespace instr {

enum class AxisUnit { kNumber, kNanoseconds, kBytes, kRatio };

struct Tick {
  double position = 0;
  std::string label;

  bool operator==(const Tick&) const = default;
};

struct Axis {
  std::string title;  // with its unit, unless that stands at each tick
  bool is_logarithmic = false;
  double from = 0;
  double to = 1;
  std::vector<Tick> ticks;  // from the least
};

// Whether a value can stand on an axis: finite and neither negative nor of a size that nothing
// measured has.
bool is_drawable(double value);

// Where on the axis a position lies: 0 to 1.
double share_at(const Axis& axis, double position);

// For values that are drawable: logarithmic where the greatest is more than 8 times the least and
// none is 0, else from 0.
Axis value_axis(std::string title, AxisUnit unit, const std::vector<double>& values);

// From 0, whatever the values: a bar's length means something.
Axis bar_axis(std::string title, AxisUnit unit, const std::vector<double>& values);

// For the values of a parameter, which are finite: its labels stand at these as far as there is
// room. Logarithmic as value_axis() is, else just around them.
Axis parameter_axis(std::string title, std::vector<double> values);

}  // namespace instr
