// A picture as a script for gnuplot, and as the SVG that gnuplot draws. Sizes are pixels.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/format.h"
#include "core/base/output_file.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"
#include "core/report/plot.h"

namespace instr {

namespace {

// A colour for each backend. The first are those of Okabe and Ito, which the colour-blind can
// distinguish, without the yellow, which is too light for lines.
constexpr const char* kColours[] = {
    "#000000", "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#D55E00",
    "#911EB4", "#808000", "#000075", "#F032E6", "#8FBF1F", "#7F4F1F", "#7F7F7F",
    "#1FBFB8", "#B59CFF", "#0B5D1E", "#FF8F80", "#800000", "#BFA300", "#5F3FFF"};
static_assert(std::size(kColours) >= std::size(kBackends), "two backends would look alike");
constexpr int kMarks[] = {7, 5, 9, 13, 11, 6, 4, 8};
constexpr std::size_t kDashes = 4;

constexpr std::size_t kMaxNameLength = 60;  // columns
constexpr double kColumn = 7.5;             // the widest column of text in the font below
constexpr double kBar = 13;
constexpr double kEntry = 20;  // a legend entry: gnuplot leaves out entries without room
constexpr double kTop = 64;
constexpr double kBottom = 64;
constexpr double kPlotWidth = 560;
constexpr double kPlotHeight = 380;
constexpr const char* kSmallEnds = "set errorbars 0.6\n";

// Characters that gnuplot interprets nowhere in a text.
bool is_harmless(char c) {
  bool is_letter = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
  return is_letter || std::string_view(" /=_.,:+-()").find(c) != std::string_view::npos;
}

// Text of at most `max` columns between quotes. Characters that gnuplot could interpret are written
// as their number, so that it expands nothing and the text does not end early. (Single quotes are
// no alternative: gnuplot takes a text that begins with a quote for an empty text and a command.)
std::string quoted(const std::string& text, std::size_t max = kMaxNameLength) {
  std::string out = "\"";
  bool after_number = false;
  for (char c : shorten_middle(printable_xml(text), max)) {
    // A digit behind such a number would belong to it.
    bool is_digit = '0' <= c && c <= '9';
    bool is_plain = is_harmless(c) || (is_digit && !after_number);
    out += is_plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    after_number = !is_plain;
  }
  return out + "\"";
}

// Returns true if every point of the series has a spread.
bool has_spreads(const Series& series) {
  return std::all_of(series.points.begin(), series.points.end(),
                     [](const ChartPoint& point) { return point.spread.has_value(); });
}

// The x, the y and, if `has_spread`, the ends of the spread.
std::string point_line(const Chart& chart, const ChartPoint& point, bool has_spread) {
  std::string text = fmt::format("{} {}", plotted(chart.x, point.x), plotted(chart.y, point.y));
  if (has_spread) {
    text += fmt::format(" {} {}", plotted(chart.y, point.spread->from),
                        plotted(chart.y, point.spread->to));
  }
  return text + "\n";
}

// The points of each series as $series0, $series1, ...: x, y and, where has_spreads(), the ends of
// the spread.
std::string data_blocks(const Chart& chart) {
  std::string text;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    text += fmt::format("$series{} << EOD\n", i);
    for (const ChartPoint& point : chart.series[i].points) {
      text += point_line(chart, point, has_spreads(chart.series[i]));
    }
    text += "EOD\n";
  }
  return text;
}

double measure_width(const std::string& name) {
  return kColumn *
         static_cast<double>(std::min(display_width(printable_xml(name)), kMaxNameLength));
}

struct Layout {
  double left = 128;  // the plot's left side: room for the axis's title and the labels of ticks
  double right = 0;   // the plot's right side
  double width = 0;
  double height = 0;
};

Layout lay_out(const Chart& chart) {
  Layout layout;
  double legend = measure_width("eager");
  for (const Series& series : chart.series) legend = std::max(legend, measure_width(series.name));
  double inner = kPlotHeight;
  if (chart.kind == ChartKind::kSpeedup) {
    for (const BarGroup& group : chart.groups) {
      layout.left = std::max(layout.left, measure_width(group.name) + 24);
    }
    inner = kBar * chart.y.to;
  }
  inner = std::max(inner, kEntry * static_cast<double>(chart.series.size() + 2));
  layout.right = layout.left + kPlotWidth;
  layout.width = layout.right + legend + 72;
  layout.height = kTop + inner + kBottom;
  return layout;
}

// The properties that all series have in common, and the meaning of whiskers.
std::string quoted_subtitle(const Chart& chart) {
  const bool has_any =
      std::any_of(chart.series.begin(), chart.series.end(), [](const auto& series) {
        return std::any_of(series.points.begin(), series.points.end(),
                           [](const ChartPoint& point) { return point.spread.has_value(); });
      });
  if (!has_any) return quoted(chart.subtitle);
  const std::string whiskers = chart.kind == ChartKind::kSpeedup
                                   ? "whiskers: 95% interval"
                                   : "whiskers: middle half of the repetitions";
  if (chart.subtitle.empty()) return quoted(whiskers);
  return quoted(shorten_middle(printable_xml(chart.subtitle), kMaxNameLength) + "; " + whiskers,
                2 * kMaxNameLength);
}

std::string frame(const Chart& chart, const Layout& layout) {
  std::string text = fmt::format(
      "set encoding utf8\nset micro\n"
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
  return scale_lines(axis, of) + fmt::format("set {}label {} noenhanced\n", axis, quoted(of.title));
}

const char* choose_colour(const Series& series) {
  return kColours[series.look % std::size(kColours)];
}

std::string bars(const Chart& chart) {
  std::string text = "set yrange [" + fmt::format("{}:0]\nunset ytics\n", chart.y.to);
  // Not as labels of ticks, which gnuplot takes for formats.
  for (const BarGroup& group : chart.groups) {
    text +=
        fmt::format("set label {} at graph 0, first {} right offset character -1, 0 noenhanced\n",
                    quoted(group.name), group.middle);
  }
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      const double end = point.spread ? std::max(point.x, point.spread->to) : point.x;
      text += fmt::format(
          "set label '{:.2f}x' at first {}, first {} left offset character 0.4, 0 font ',9'\n",
          point.x, end, point.y);
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
        i, choose_colour(chart.series[i]), quoted(chart.series[i].name));
  }
  return text + "  $eager using 1:2 with lines lw 1.5 dt 2 lc rgb '#999999' title 'eager'\n";
}

int choose_mark(const Series& series) { return kMarks[series.look % std::size(kMarks)]; }

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
        choose_colour(series), choose_mark(series), quoted(series.name));
  }
  return text + "\n";
}

// A legend of the backends: gnuplot's own would have an entry for each point.
std::string mark_legend(const Chart& chart, const Layout& layout) {
  std::string text = "unset key\n";
  double down = kTop + kEntry / 2;
  for (const Series& series : chart.series) {
    const double up = 1 - down / layout.height;
    text += fmt::format(
        "set label '' at screen {:.6f}, screen {:.6f} point pt {} ps 0.8 lc rgb '{}'\n",
        (layout.right + 24) / layout.width, up, choose_mark(series), choose_colour(series));
    text += fmt::format("set label {} at screen {:.6f}, screen {:.6f} left noenhanced\n",
                        quoted(series.name), (layout.right + 36) / layout.width, up);
    down += kEntry;
  }
  return text;
}

// Draws each point as a separate plot, since a viewer shows the title of a plot under the mouse.
std::string points(const Chart& chart, const Layout& layout) {
  std::string text = axis_lines('y', chart.y) + mark_legend(chart, layout) + kSmallEnds;
  std::string plots;
  std::size_t number = 0;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      text += fmt::format("$point{} << EOD\n{}EOD\n", number,
                          point_line(chart, point, point.spread.has_value()));
      plots += fmt::format(
          "{} \\\n  $point{} using {} lc rgb '{}' pt {} ps 0.8 title {} noenhanced",
          number == 0 ? "" : ",", number,
          point.spread ? "1:2:3:4 with yerrorbars" : "1:2 with points", choose_colour(series),
          choose_mark(series), quoted(point.name + ", " + series.name));
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

// gnuplot's message, which follows the lines of the script.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return printable(text.substr(text.rfind('\n') + 1));
}

}  // namespace

std::string plot_script(const Chart& chart) {
  const bool has_bars = chart.kind == ChartKind::kSpeedup;
  const Layout layout = lay_out(chart);
  std::string text = frame(chart, layout);
  text +=
      "set border 3 lc rgb '#808080'\nset xtics textcolor rgb '#000000'\n"
      "set ytics textcolor rgb '#000000'\n";
  text += fmt::format("set grid {} back lt 1 lw 1 lc rgb '#DDDDDD'\n",
                      has_bars ? "xtics" : "xtics ytics");
  return text + axis_lines('x', chart.x) + drawing(chart, layout);
}

Expected<fs::path> find_gnuplot() {
  if (auto program = find_program("gnuplot")) return program;
  return fail("a picture needs gnuplot, which is not on PATH",
              "install it: apt-get install gnuplot-nox");
}

Expected<std::string> draw_svg(const Chart& chart, std::stop_token stop) {
  TRY_ASSIGN(const auto program, find_gnuplot());
  TRY_ASSIGN(auto folder, PrivateFolder::make());
  // From a file, gnuplot stops at the first line that it cannot read.
  fs::path file = folder.path() / "plot.gp";
  TRY(replace_file(file, plot_script(chart)));
  SpawnOptions spawn;
  // Without the user's settings and locale, so that the same results give the same picture.
  spawn.argv = {program.string(), "--default-settings", file.string()};
  spawn.environment = {{"LC_ALL=C.UTF-8"}};
  TRY_ASSIGN(auto ran, run_command(std::move(spawn), stop));
  if (ran.exit_code != 0 || ran.output.find("</svg>") == std::string::npos) {
    return fail("gnuplot could not draw the picture: " + last_line(ran.errors),
                "version 5.4 or newer is needed: gnuplot --version");
  }
  return std::move(ran.output);
}

}  // namespace instr
