// A picture as a script for gnuplot. Sizes are pixels of the SVG.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/base/format.h"
#include "core/report/plot_gnuplot.h"

namespace instr {

namespace {

// The colours of Okabe and Ito, that the colour-blind can tell apart, without the yellow that is
// too light for lines.
constexpr const char* kColours[] = {"#000000", "#0072B2", "#56B4E9", "#009E73",
                                    "#E69F00", "#CC79A7", "#D55E00"};
constexpr int kMarks[] = {7, 5, 9, 13, 11, 6, 4, 8};
constexpr std::size_t kDashes = 4;

constexpr double kColumn = 7.5;  // what one takes at most, in the font below
constexpr double kBar = 13;
constexpr double kValueWidth = 34;  // of the text at a bar's end
constexpr double kEntry = 20;       // of the legend: what has no room gnuplot leaves out
constexpr double kTop = 64;
constexpr double kBottom = 64;
constexpr double kPlotWidth = 560;
constexpr double kPlotHeight = 380;
constexpr const char* kSmallEnds = "set errorbars 0.6\n";

double width_of(const std::string& name) {
  return kColumn * static_cast<double>(std::min(display_width(printable_xml(name)), kLongestName));
}

struct Layout {
  double left = 112;  // of the plot: its title, and what stands at the ticks
  double right = 0;   // its right side
  double width = 0;
  double height = 0;
};

Layout layout_of(const Chart& chart) {
  Layout layout;
  double legend = width_of("eager");
  for (const Series& series : chart.series) legend = std::max(legend, width_of(series.name));
  double inner = kPlotHeight;
  if (chart.kind == ChartKind::kSpeedup) {
    for (const Tick& tick : chart.y.ticks) {
      layout.left = std::max(layout.left, width_of(tick.label) + 24);
    }
    inner = kBar * chart.y.to;
  }
  inner = std::max(inner, kEntry * static_cast<double>(chart.series.size() + 2));
  layout.right = layout.left + kPlotWidth;
  layout.width = layout.right + legend + 72;
  layout.height = kTop + inner + kBottom;
  return layout;
}

// What all that is drawn has in common, and what whiskers are.
std::string quoted_subtitle(const Chart& chart) {
  const bool has_any = std::any_of(chart.series.begin(), chart.series.end(), [](const auto& one) {
    return std::any_of(one.points.begin(), one.points.end(),
                       [](const ChartPoint& point) { return point.spread.has_value(); });
  });
  if (!has_any) return quoted(chart.subtitle);
  const std::string whiskers = chart.kind == ChartKind::kSpeedup
                                   ? "whiskers: 95% interval"
                                   : "whiskers: middle half of the repetitions";
  if (chart.subtitle.empty()) return quoted(whiskers);
  return quoted(shorten_middle(printable_xml(chart.subtitle), kLongestName) + "; " + whiskers,
                2 * kLongestName);
}

std::string frame(const Chart& chart, const Layout& layout) {
  std::string text = fmt::format(
      "set encoding utf8\n"
      "set terminal svg size {:.0f},{:.0f} noenhanced font 'sans-serif,13' background rgb "
      "'#FFFFFF'\n",
      layout.width, layout.height);
  text += fmt::format("set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n",
                      layout.left / layout.width, layout.right / layout.width);
  text += fmt::format("set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n",
                      1 - kTop / layout.height, kBottom / layout.height);
  for (const auto& [words, size, below] :
       {std::tuple(quoted(chart.title), 17, 24.0), std::tuple(quoted_subtitle(chart), 13, 46.0)}) {
    text += fmt::format("set label {} at screen {:.6f}, screen {:.6f} left font ',{}' noenhanced\n",
                        words, 20 / layout.width, 1 - below / layout.height, size);
  }
  text += fmt::format(
      "set key at screen {:.6f}, screen {:.6f} left top Left reverse vertical maxcols 1 samplen 2 "
      "noenhanced\n",
      (layout.right + 12) / layout.width, 1 - kTop / layout.height);
  return text;
}

std::string axis_lines(char axis, const Axis& of) {
  return range_lines(axis, of) + fmt::format("set {}label {} noenhanced\n", axis, quoted(of.title));
}

const char* colour_of(const Series& series) { return kColours[series.look % std::size(kColours)]; }

std::string bars(const Chart& chart) {
  std::string text = "set yrange [" + fmt::format("{}:0]\nunset ytics\n", chart.y.to);
  // Labels of ticks would be taken for formats.
  for (const Tick& tick : chart.y.ticks) {
    text +=
        fmt::format("set label {} at graph 0, first {} right offset character -1, 0 noenhanced\n",
                    quoted(tick.label), tick.position);
  }
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      const double end = point.spread ? std::max(point.x, point.spread->to) : point.x;
      text += fmt::format(
          "set label '{:.2f}x' at first {}, first {} left offset character 0.4, 0 font ',9'\n",
          point.x, place_of_value(chart, end, kValueWidth / kPlotWidth), point.y);
      if (!point.spread) continue;
      text += fmt::format(
          "set arrow from first {}, first {} to first {}, first {} heads size screen 0.003, 90 "
          "front lw 1 lc rgb '#000000'\n",
          point.spread->from, point.y, point.spread->to, point.y);
    }
  }
  text += "set style fill solid 1.0 noborder\n" + data_blocks(chart);
  text += fmt::format("$eager << EOD\n1 0\n1 {}\nEOD\nplot \\\n", chart.y.to);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    text += fmt::format(
        "  $series{} using 1:2:(0):1:($2-0.42):($2+0.42) with boxxyerror lc rgb '{}' title {} "
        "noenhanced, "
        "\\\n",
        i, colour_of(chart.series[i]), quoted(chart.series[i].name));
  }
  return text + "  $eager using 1:2 with lines lw 1.5 dt 2 lc rgb '#000000' title 'eager'\n";
}

int mark_of(const Series& series) { return kMarks[series.look % std::size(kMarks)]; }

std::string lines(const Chart& chart) {
  std::string text = axis_lines('y', chart.y) + data_blocks(chart) + kSmallEnds + "plot";
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const bool has_ends = has_spreads(series);
    text += fmt::format(
        "{} \\\n  $series{} using {} with {} lw 1.5 dt {} lc rgb '{}' pt {} ps 0.8 title {} "
        "noenhanced",
        i == 0 ? "" : ",", i, has_ends ? "1:2:3:4" : "1:2",
        has_ends ? "yerrorlines" : "linespoints", series.look / std::size(kColours) % kDashes + 1,
        colour_of(series), mark_of(series), quoted(series.name));
  }
  return text + "\n";
}

// Of each runtime its mark. gnuplot's own would have an entry for each point.
std::string mark_legend(const Chart& chart, const Layout& layout) {
  std::string text = "unset key\n";
  double down = kTop + kEntry / 2;
  for (const Series& series : chart.series) {
    const double up = 1 - down / layout.height;
    text +=
        fmt::format("set label '' at screen {:.6f}, screen {:.6f} point pt {} ps 0.8 lc rgb '{}'\n",
                    (layout.right + 24) / layout.width, up, mark_of(series), colour_of(series));
    text += fmt::format("set label {} at screen {:.6f}, screen {:.6f} left noenhanced\n",
                        quoted(series.name), (layout.right + 36) / layout.width, up);
    down += kEntry;
  }
  return text;
}

// The spreads of points.
std::vector<Box> whiskers(const Chart& chart, const LabelSizes& sizes) {
  std::vector<Box> boxes;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      if (!point.spread) continue;
      const Spot low = spot_of(chart, {point.x, point.spread->from}, sizes);
      const Spot high = spot_of(chart, {point.x, point.spread->to}, sizes);
      boxes.push_back({low.x - 1, high.y, low.x + 1, low.y});
    }
  }
  return boxes;
}

std::string name_label(const ChartPoint& point, Side side, const LabelSizes& sizes) {
  const double across = (sizes.mark + sizes.gap) / sizes.plot_width;
  const double up = (sizes.mark + sizes.line / 2) / sizes.plot_height;
  const char* align = "center";
  double right = 0;
  double upwards = 0;
  switch (side) {
    case Side::kNone: return "";
    case Side::kRight:
      align = "left";
      right = across;
      break;
    case Side::kLeft:
      align = "right";
      right = -across;
      break;
    case Side::kAbove: upwards = up; break;
    case Side::kBelow: upwards = -up; break;
  }
  return fmt::format(
      "set label {} at first {}, first {} {} offset graph {:.6f}, {:.6f} font ',10' noenhanced\n",
      quoted(point.name), point.x, point.y, align, right, upwards);
}

// Each point is a plot of its own, since it is the title of a plot that a reader of the picture
// shows where the mouse rests.
std::string points(const Chart& chart, const Layout& layout) {
  const LabelSizes sizes{kPlotWidth, layout.height - kTop - kBottom, 4.5, 3, 10};
  const auto sides = label_sides(chart, kColumn * 10 / 13, sizes, whiskers(chart, sizes));
  std::string text = axis_lines('y', chart.y) + mark_legend(chart, layout) + kSmallEnds;
  std::string plots;
  std::size_t number = 0;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      text += name_label(point, sides[number], sizes);
      text += fmt::format("$point{} << EOD\n{}EOD\n", number,
                          point_line(point, point.spread.has_value()));
      plots +=
          fmt::format("{} \\\n  $point{} using {} lc rgb '{}' pt {} ps 0.8 title {} noenhanced",
                      number == 0 ? "" : ",", number,
                      point.spread ? "1:2:3:4 with yerrorbars" : "1:2 with points",
                      colour_of(series), mark_of(series), quoted(point.name + ", " + series.name));
      ++number;
    }
  }
  return text + "plot" + plots + "\n";
}

std::string drawing(const Chart& chart, const Layout& layout) {
  switch (chart.kind) {
    case ChartKind::kSpeedup: break;
    case ChartKind::kGrowth:
    case ChartKind::kDistribution: return lines(chart);
    case ChartKind::kMemory: return points(chart, layout);
  }
  return bars(chart);
}

}  // namespace

std::string plot_script(const Chart& chart) {
  const bool has_bars = chart.kind == ChartKind::kSpeedup;
  const Layout layout = layout_of(chart);
  std::string text = frame(chart, layout);
  text +=
      "set border 3 lc rgb '#808080'\nset xtics textcolor rgb '#000000'\n"
      "set ytics textcolor rgb '#000000'\n";
  text += fmt::format("set grid {} back lt 1 lw 1 lc rgb '#DDDDDD'\n",
                      has_bars ? "xtics" : "xtics ytics");
  return text + axis_lines('x', chart.x) + drawing(chart, layout);
}

}  // namespace instr
