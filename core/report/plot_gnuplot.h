// What every script for gnuplot is made of. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "core/report/plot.h"
#include "core/report/plot_labels.h"

namespace instr {

inline constexpr std::size_t kLongestName = 60;  // columns

// A text of at most so many columns between quotes. Characters that could mean something to gnuplot
// stand there by their number, so that it has nothing to expand and the text no end of its own.
// (Between single quotes only the quote would have a meaning; but a text that begins with one
// gnuplot takes for an empty text and a command.)
std::string quoted(const std::string& text, std::size_t most = kLongestName);

// The range of the axis `x` or `y`, and its ticks.
std::string range_lines(char axis, const Axis& of);

// Its x, y and, `has_spread`, the ends of its spread.
std::string point_line(const ChartPoint& point, bool has_spread);

// The points of each series as $series0, $series1, ...: x, y and, where has_spreads(), the ends of
// the spread.
std::string data_blocks(const Chart& chart);

// Whether all of its points have one.
bool has_spreads(const Series& series);

// Where the value at a bar's end, which takes that share of the axis, begins: there, but not across
// the line at 1.
double place_of_value(const Chart& chart, double end, double share);

// Sides for the names of all points, series by series; none where there are too many to read.
// `taken`: of other things in the plot.
std::vector<Side> label_sides(const Chart& chart, double column, const LabelSizes& sizes,
                              const std::vector<Box>& taken = {});

// Where in the plot a point is, in the units of `sizes`.
Spot spot_of(const Chart& chart, const ChartPoint& point, const LabelSizes& sizes);

}  // namespace instr
