// A picture as a script for gnuplot. Sizes are pixels of the SVG.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "core/base/format.h"
#include "core/report/plot.h"

namespace instr {

namespace {

// The colours of Okabe and Ito, that the colour-blind can tell apart, without the yellow that is
// too light for lines.
constexpr const char* kColours[] = {"#000000", "#0072B2", "#56B4E9", "#009E73",
                                    "#E69F00", "#CC79A7", "#D55E00"};
constexpr int kMarks[] = {7, 5, 9, 13, 11, 6, 4, 8};
constexpr std::size_t kDashes = 4;

constexpr std::size_t kLongestName = 60;  // columns
constexpr double kColumn = 7.5;           // what one takes at most, in the font below
constexpr double kBar = 13;
constexpr double kValueWidth = 34;  // of the text at a bar's end
constexpr double kEntry = 20;       // of the legend: what has no room gnuplot leaves out
constexpr double kTop = 64;
constexpr double kBottom = 64;
constexpr double kPlotWidth = 560;
constexpr double kPlotHeight = 380;

// Characters that mean nothing to gnuplot wherever they stand in a text.
bool is_harmless(char c) {
  bool is_letter = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
  return is_letter || std::string_view(" /=_.,:+-()").find(c) != std::string_view::npos;
}

// Other characters by their number, so that gnuplot has nothing to expand and the text no end of
// its own. (Between single quotes only the quote would have a meaning; but a text that begins with
// one gnuplot takes for an empty text and a command.)
std::string quoted(const std::string& text) {
  std::string out = "\"";
  bool after_number = false;
  for (char c : shorten_middle(printable_xml(text), kLongestName)) {
    // A digit behind a number would be taken for one of its digits.
    bool is_digit = '0' <= c && c <= '9';
    bool is_plain = is_harmless(c) || (is_digit && !after_number);
    out += is_plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    after_number = !is_plain;
  }
  return out + "\"";
}

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

std::string ticks_line(char axis, const Axis& of) {
  std::string list;
  for (const Tick& tick : of.ticks) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", quoted(tick.label), tick.position);
  }
  return fmt::format("set {}tics nomirror scale 0.5 ({})\n", axis, list);
}

std::string axis_lines(char axis, const Axis& of) {
  std::string text = fmt::format("set {}range [{}:{}]\n", axis, of.from, of.to);
  if (of.is_logarithmic) text += fmt::format("set logscale {} 10\n", axis);
  text += fmt::format("set {}label {} noenhanced\n", axis, quoted(of.title));
  return text + ticks_line(axis, of);
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
       {std::tuple(chart.title, 17, 24.0), std::tuple(chart.subtitle, 13, 46.0)}) {
    text += fmt::format("set label {} at screen {:.6f}, screen {:.6f} left font ',{}' noenhanced\n",
                        quoted(words), 20 / layout.width, 1 - below / layout.height, size);
  }
  text += fmt::format(
      "set key at screen {:.6f}, screen {:.6f} left top Left reverse vertical maxcols 1 samplen 2 "
      "noenhanced\n",
      (layout.right + 12) / layout.width, 1 - kTop / layout.height);
  return text;
}

std::string data_block(std::size_t number, const Series& series) {
  std::string text = fmt::format("$series{} << EOD\n", number);
  for (const ChartPoint& point : series.points) text += fmt::format("{} {}\n", point.x, point.y);
  return text + "EOD\n";
}

std::string data_blocks(const Chart& chart) {
  std::string text;
  for (std::size_t i = 0; i < chart.series.size(); ++i) text += data_block(i, chart.series[i]);
  return text;
}

const char* colour_of(const Series& series) { return kColours[series.look % std::size(kColours)]; }

// At the bar's end; but not across the line at 1.
double place_of_value(const Chart& chart, double value) {
  double width = kValueWidth / kPlotWidth * (chart.x.to - chart.x.from);
  return value < 1 && value + width > 1 ? 1 : value;
}

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
      text += fmt::format(
          "set label '{:.2f}x' at first {}, first {} left offset character 0.4, 0 font ',9'\n",
          point.x, place_of_value(chart, point.x), point.y);
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

std::string marks(const Chart& chart) {
  std::string text = axis_lines('y', chart.y) + data_blocks(chart) + "plot";
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    std::string style = "points";
    if (chart.kind == ChartKind::kGrowth) {
      style =
          fmt::format("linespoints lw 1.5 dt {}", series.look / std::size(kColours) % kDashes + 1);
    }
    text += fmt::format(
        "{} \\\n  $series{} using 1:2 with {} lc rgb '{}' pt {} ps 0.8 title {} noenhanced",
        i == 0 ? "" : ",", i, style, colour_of(series), kMarks[series.look % std::size(kMarks)],
        quoted(series.name));
  }
  return text + "\n";
}

}  // namespace

std::string plot_script(const Chart& chart) {
  bool has_bars = chart.kind == ChartKind::kSpeedup;
  std::string text = frame(chart, layout_of(chart));
  text +=
      "set border 3 lc rgb '#808080'\nset xtics textcolor rgb '#000000'\n"
      "set ytics textcolor rgb '#000000'\n";
  text += fmt::format("set grid {} back lt 1 lw 1 lc rgb '#DDDDDD'\n",
                      has_bars ? "xtics" : "xtics ytics");
  text += axis_lines('x', chart.x);
  return text + (has_bars ? bars(chart) : marks(chart));
}

}  // namespace instr
