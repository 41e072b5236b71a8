// Pictures of results: how much faster than eager each backend is, for each benchmark and for how
// many, how a metric grows with a parameter, what latency goes with how much memory. Results to a
// value, and that to a script for gnuplot, which draws it.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/report/plot_axis.h"
#include "core/results/measurement.h"

namespace instr {

enum class ChartKind { kSpeedup, kGrowth, kMemory, kDistribution };

inline constexpr ChartKind kChartKinds[] = {ChartKind::kSpeedup, ChartKind::kGrowth,
                                            ChartKind::kMemory, ChartKind::kDistribution};

const char* to_string(ChartKind kind);  // "speedup", "growth", "memory", "distribution"

struct PlotOptions {
  std::optional<ChartKind> kind;  // absent: the first that the results have something to draw for
  std::string metric = kInstructions;  // of growth
  std::optional<std::string> by;  // growth by this parameter; absent: the only one that there is
  bool is_sorted = false;         // speed-ups: the greatest first, instead of by name
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
  // Of a speed-up its 95% interval; of another time the middle half of the repetitions that the
  // value is the median of; absent where there are too few of these, or the value is exact.
  std::optional<Spread> spread = {};
  std::string name = {};  // of what it is of, where neither axis says so

  bool operator==(const ChartPoint&) const = default;
};

struct Series {
  std::string name;
  std::size_t look = 0;  // its colour and mark; a backend has the same one in every picture
  std::vector<ChartPoint> points;
};

// The bars of a benchmark.
struct BarGroup {
  double middle = 0;  // on the axis y
  std::string name;

  bool operator==(const BarGroup&) const = default;
};

struct Chart {
  ChartKind kind = ChartKind::kSpeedup;
  std::string title;
  std::string subtitle;  // what all that is drawn has in common
  Axis x;
  Axis y;                        // of speed-ups: bars lie on it one by one from the top
  std::vector<BarGroup> groups;  // of speed-ups
  std::vector<Series> series;
  std::size_t left_out = 0;  // measurements that were verified, and did not pass
};

// Names are as the results have them: they may hold anything. Errors have no place: nothing to
// draw, with what to measure; a parameter to choose; more than can be read in one picture.
Expected<Chart> make_chart(const std::vector<Measurement>& measurements,
                           const PlotOptions& options);

// One of each kind that there is something to draw for; for one that is too much for a picture, or
// leaves a choice, that error.
std::vector<std::pair<ChartKind, Expected<Chart>>> make_charts(
    const std::vector<Measurement>& measurements, const std::string& metric);

// What gnuplot makes an SVG of, on its standard output. What names say it draws, and neither runs
// nor expands.
std::string plot_script(const Chart& chart);

// Runs gnuplot to draw the chart as an SVG. The error for a missing gnuplot says how to install it.
Expected<std::string> draw_svg(const Chart& chart, std::stop_token stop);

}  // namespace instr
