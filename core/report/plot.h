// Pictures of results: how much faster than eager each backend is, for each benchmark and as a
// distribution; how a metric grows with a parameter; latency against memory. Results become a
// value, and that a script for gnuplot.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/report/document.h"
#include "core/results/measurement.h"

namespace instr {

enum class AxisUnit { kNumber, kNanoseconds, kBytes, kRatio, kParameter };

struct Axis {
  std::string title;  // includes the unit, unless each tick has it
  AxisUnit unit = AxisUnit::kNumber;
  bool is_logarithmic = false;
  double from = 0;
  double to = 1;
};

enum class ChartKind { kSpeedup, kGrowth, kMemory, kDistribution };

inline constexpr ChartKind kChartKinds[] = {ChartKind::kSpeedup, ChartKind::kGrowth,
                                            ChartKind::kMemory, ChartKind::kDistribution};

const char* to_string(ChartKind kind);  // "speedup", "growth", "memory", "distribution"

struct PlotOptions {
  std::optional<ChartKind> kind;  // absent: the first that the results have something to draw for
  std::string metric = kInstructions;  // the metric of growth
  std::optional<std::string> by;       // the parameter of growth; absent: the only one
  bool is_sorted = false;              // speed-ups: the greatest first, instead of by name
};

// An interval on the axis of the values.
struct Spread {
  double from = 0;
  double to = 0;

  bool operator==(const Spread&) const = default;
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  // The 95% interval of a speed-up; of another time the middle half of the repetitions. Absent if
  // there are too few repetitions, or the value is exact.
  std::optional<Spread> spread = {};
  std::string name = {};  // the benchmark's name, if neither axis has it

  bool operator==(const ChartPoint&) const = default;
};

struct Series {
  std::string name;
  std::size_t look =
      0;  // the number of its colour and mark, the same for a backend in every picture
  std::vector<ChartPoint> points;
};

// The bars of a benchmark.
struct BarGroup {
  double middle = 0;  // the position on axis y
  std::string name;

  bool operator==(const BarGroup&) const = default;
};

struct Chart {
  ChartKind kind = ChartKind::kSpeedup;
  std::string title;
  std::string subtitle;  // the properties that all series have in common
  Axis x;
  Axis y;                        // speed-ups: the bars, from the top
  std::vector<BarGroup> groups;  // set for speed-ups
  std::vector<Series> series;
  std::size_t left_out = 0;  // measurements that did not pass verification
};

// Names are those of the results, and may contain anything. Fails without a place: if there is
// nothing to draw (the advice says what to measure), a parameter to choose, or too much for one
// picture.
Expected<Chart> make_chart(const std::vector<Measurement>& measurements,
                           const PlotOptions& options);

// A chart of each kind that there is something to draw for, or its error (see make_chart()).
std::vector<std::pair<ChartKind, Expected<Chart>>> make_charts(
    const std::vector<Measurement>& measurements, const std::string& metric);

// The values of a chart, a row for each point. Times are nanoseconds.
Document chart_document(const Chart& chart);

// True if a value can stand on an axis: finite, not negative, and within 1e-30 and 1e30.
bool is_drawable(double value);

// For drawable values: logarithmic if the greatest is more than 8 times the least and none is 0,
// else from 0.
Axis value_axis(std::string title, AxisUnit unit, const std::vector<double>& values);

// Begins at 0, since the length of a bar has a meaning.
Axis bar_axis(std::string title, AxisUnit unit, const std::vector<double>& values);

// For finite values of a parameter: logarithmic as value_axis() is, else just around them.
Axis parameter_axis(std::string title, const std::vector<double>& values);

// The lines of gnuplot that set the range, scale and ticks of the axis `x` or `y`.
std::string scale_lines(char axis, const Axis& of);

// A value as gnuplot gets it: times in seconds, which it writes with their prefix.
double plotted(const Axis& axis, double value);

// The script with which gnuplot writes an SVG to its standard output. Names are drawn as they are:
// gnuplot neither runs nor expands what they contain.
std::string plot_script(const Chart& chart);

// Finds gnuplot on PATH. The error says how to install it.
Expected<fs::path> find_gnuplot();

// Runs gnuplot to draw the chart as an SVG.
Expected<std::string> draw_svg(const Chart& chart, std::stop_token stop);

// The quartiles of a metric that is the median of repeated times above 0.
std::optional<Spread> find_spread(const Measurement& measurement, const std::string& metric);

}  // namespace instr
