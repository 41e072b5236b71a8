#include "core/report/plot_gnuplot.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/format.h"

namespace instr {

namespace {

constexpr std::size_t kMostNamed = 30;  // points

// Characters that mean nothing to gnuplot wherever they stand in a text.
bool is_harmless(char c) {
  bool is_letter = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
  return is_letter || std::string_view(" /=_.,:+-()").find(c) != std::string_view::npos;
}

std::string ticks_line(char axis, const Axis& of) {
  std::string list;
  for (const Tick& tick : of.ticks) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", quoted(tick.label), tick.position);
  }
  return fmt::format("set {}tics nomirror scale 0.5 ({})\n", axis, list);
}

}  // namespace

std::string quoted(const std::string& text, std::size_t most) {
  std::string out = "\"";
  bool after_number = false;
  for (char c : shorten_middle(printable_xml(text), most)) {
    // A digit behind a number would be taken for one of its digits.
    bool is_digit = '0' <= c && c <= '9';
    bool is_plain = is_harmless(c) || (is_digit && !after_number);
    out += is_plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    after_number = !is_plain;
  }
  return out + "\"";
}

std::string range_lines(char axis, const Axis& of) {
  std::string text = fmt::format("set {}range [{}:{}]\n", axis, of.from, of.to);
  if (of.is_logarithmic) text += fmt::format("set logscale {} 10\n", axis);
  return text + ticks_line(axis, of);
}

bool has_spreads(const Series& series) {
  return std::all_of(series.points.begin(), series.points.end(),
                     [](const ChartPoint& point) { return point.spread.has_value(); });
}

std::string point_line(const ChartPoint& point, bool has_spread) {
  std::string text = fmt::format("{} {}", point.x, point.y);
  if (has_spread) text += fmt::format(" {} {}", point.spread->from, point.spread->to);
  return text + "\n";
}

std::string data_blocks(const Chart& chart) {
  std::string text;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    text += fmt::format("$series{} << EOD\n", i);
    for (const ChartPoint& point : chart.series[i].points) {
      text += point_line(point, has_spreads(chart.series[i]));
    }
    text += "EOD\n";
  }
  return text;
}

double place_of_value(const Chart& chart, double end, double share) {
  const double width = share * (chart.x.to - chart.x.from);
  return end < 1 && end + width > 1 ? 1 : end;
}

Spot spot_of(const Chart& chart, const ChartPoint& point, const LabelSizes& sizes) {
  return {share_at(chart.x, point.x) * sizes.plot_width,
          (1 - share_at(chart.y, point.y)) * sizes.plot_height, 0};
}

std::vector<Side> label_sides(const Chart& chart, double column, const LabelSizes& sizes,
                              const std::vector<Box>& taken) {
  std::vector<Spot> spots;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      Spot& spot = spots.emplace_back(spot_of(chart, point, sizes));
      spot.width = column * static_cast<double>(
                                std::min(display_width(printable_xml(point.name)), kLongestName));
    }
  }
  if (spots.size() > kMostNamed) return std::vector<Side>(spots.size(), Side::kNone);
  return place_labels(spots, taken, sizes);
}

}  // namespace instr
