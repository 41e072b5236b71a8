// A picture as a script for gnuplot's terminal of characters. Sizes are rows and columns.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/report/plot_gnuplot.h"

namespace instr {

namespace {

constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kPlotRows = 18;
constexpr std::size_t kAbove = 4;  // rows: title, what is common, the axis's title
constexpr std::size_t kBelow = 3;  // ticks and the axis's title
constexpr std::size_t kRight = 8;  // columns: a value at a bar's end, half a label
constexpr double kMarkColumns = 0.5;
constexpr double kValueColumns = 7;  // of a value and what is free before it

struct Page {
  std::size_t width = 0;
  std::size_t left = 0;  // columns left of the plot
  std::size_t rows = 0;  // of the plot

  std::size_t height(const Chart& chart) const {
    return kAbove + rows + kBelow + chart.series.size() + 1;
  }
};

std::size_t longest_label(const Axis& axis) {
  std::size_t most = 0;
  for (const Tick& tick : axis.ticks) {
    most = std::max(most, display_width(printable_xml(tick.label)));
  }
  return most;
}

Page page_of(const Chart& chart, std::size_t width) {
  Page page{std::max(width, kLeastWidth), 0, kPlotRows};
  page.left = std::min(longest_label(chart.y), page.width * 2 / 5) + 2;
  if (chart.kind == ChartKind::kSpeedup) page.rows = static_cast<std::size_t>(chart.y.to);
  return page;
}

std::string frame(const Chart& chart, const Page& page) {
  std::string text = fmt::format(
      "set encoding utf8\nset terminal dumb noenhanced nofeed mono size {},{}\n"
      "set lmargin {}\nset rmargin {}\nset tmargin {}\nset bmargin {}\n",
      page.width, page.height(chart), page.left, kRight, kAbove, kBelow + chart.series.size());
  // In other pictures the title or the names at the bars say what is upwards.
  const bool has_title = chart.kind == ChartKind::kMemory;
  std::size_t row = has_title ? 3 : 2;
  for (const std::string& line :
       {chart.title, chart.subtitle, has_title ? chart.y.title : std::string()}) {
    text +=
        fmt::format("set label {} at screen 0, graph 1 left offset character 0, {} noenhanced\n",
                    quoted(line, page.width), row--);
    if (row == 0) break;
  }
  text += fmt::format(
      "set key at screen 0, screen {:.6f} left top Left reverse vertical maxcols 1 samplen 2 "
      "noenhanced\n",
      static_cast<double>(chart.series.size()) / static_cast<double>(page.height(chart)));
  return text + "set border 3\n" + range_lines('x', chart.x) +
         fmt::format("set xlabel {} noenhanced\n", quoted(chart.x.title, page.width));
}

// A row for each bar. gnuplot has a character for each series.
std::string bars(const Chart& chart, const Page& page) {
  std::string text = fmt::format("set yrange [{}:0]\nunset ytics\n", chart.y.to);
  text += "set arrow from first 1, graph 0 to first 1, graph 1 nohead back\n";
  for (const Tick& tick : chart.y.ticks) {
    text +=
        fmt::format("set label {} at graph 0, first {} right offset character -1, 0 noenhanced\n",
                    quoted(tick.label, page.left - 2), tick.position);
  }
  const auto columns = static_cast<double>(page.width - page.left - kRight);
  std::string plots;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    text += fmt::format("$series{} << EOD\n", i);
    for (const ChartPoint& point : chart.series[i].points) {
      text += fmt::format("0 {1}\n{0} {1}\n\n", point.x, point.y);
    }
    text += "EOD\n";
    for (const ChartPoint& point : chart.series[i].points) {
      text +=
          fmt::format("set label '{:.2f}x' at first {}, first {} left offset character 2, 0\n",
                      point.x, place_of_value(chart, point.x, kValueColumns / columns), point.y);
    }
    plots += fmt::format("{} \\\n  $series{} using 1:2 with lines title {} noenhanced",
                         i == 0 ? "" : ",", i, quoted(" " + chart.series[i].name, page.width - 12));
  }
  return text + "plot" + plots + "\n";
}

std::string name_label(const ChartPoint& point, Side side, std::size_t most) {
  const char* place = "";
  switch (side) {
    case Side::kNone: return "";
    case Side::kRight: place = "left offset character 2, 0"; break;
    case Side::kLeft: place = "right offset character -2, 0"; break;
    case Side::kAbove: place = "center offset character 0, 1"; break;
    case Side::kBelow: place = "center offset character 0, -1"; break;
  }
  return fmt::format("set label {} at first {}, first {} {} noenhanced\n", quoted(point.name, most),
                     point.x, point.y, place);
}

std::string marks(const Chart& chart, const Page& page) {
  const LabelSizes sizes{static_cast<double>(page.width - page.left - kRight),
                         static_cast<double>(page.rows), kMarkColumns, 1, 1};
  const auto sides = label_sides(chart, 1, sizes);
  std::string text = range_lines('y', chart.y) + data_blocks(chart);
  std::string plots;
  std::size_t number = 0;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    for (const ChartPoint& point : series.points) {
      text += name_label(point, sides[number++], page.width);
    }
    plots +=
        fmt::format("{} \\\n  $series{} using 1:2 with {} title {} noenhanced", i == 0 ? "" : ",",
                    i, chart.kind == ChartKind::kMemory ? "points" : "linespoints",
                    quoted(" " + series.name, page.width - 12));
  }
  return text + "plot" + plots + "\n";
}

}  // namespace

std::string plot_text_script(const Chart& chart, std::size_t width) {
  const Page page = page_of(chart, width);
  return frame(chart, page) +
         (chart.kind == ChartKind::kSpeedup ? bars(chart, page) : marks(chart, page));
}

}  // namespace instr
