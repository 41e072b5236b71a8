// A metric against a parameter: how cost grows with n.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/report/backend_summary.h"
#include "core/report/plot_values.h"

namespace instr {

namespace {

using Measured = std::vector<const Measurement*>;

AxisUnit axis_unit(Unit unit) {
  if (unit == Unit::kBytes) return AxisUnit::kBytes;
  return unit == Unit::kNanoseconds ? AxisUnit::kNanoseconds : AxisUnit::kNumber;
}

Axis metric_axis(const std::string& metric, const std::vector<double>& values) {
  const Metric* known = find_metric(metric);
  if (known != nullptr) return value_axis(known->title, axis_unit(known->unit), values);
  return value_axis(metric + " per iteration", AxisUnit::kNumber, values);
}

std::optional<double> find_parameter(const Variant& variant, const std::string& name) {
  for (const auto& [parameter, value] : variant.params) {
    if (parameter == name) return parse_drawable(value);
  }
  return std::nullopt;
}

// Points by the parameter.
struct GrowthLine {
  const Measurement* first = nullptr;
  std::map<double, ChartPoint> points;
};

// The lines of more than one point.
std::vector<GrowthLine> make_lines(const std::string& by, const Measured& measured,
                                   const std::string& metric) {
  std::map<std::pair<Benchmark, Backend>, std::size_t> places;
  std::vector<GrowthLine> lines;
  for (const Measurement* measurement : measured) {
    auto number = find_parameter(measurement->variant, by);
    if (!number) continue;
    Benchmark rest = benchmark_of(measurement->variant);
    std::erase_if(std::get<1>(rest),
                  [&by](const auto& parameter) { return parameter.first == by; });
    auto [place, is_new] =
        places.try_emplace({std::move(rest), measurement->variant.backend}, lines.size());
    if (is_new) lines.push_back({measurement, {}});
    lines[place->second].points[*number] = {*number, *find_metric_value(*measurement, metric),
                                            find_spread(*measurement, metric)};
  }
  std::erase_if(lines, [](const GrowthLine& line) { return line.points.size() < 2; });
  std::sort(lines.begin(), lines.end(), [&by](const GrowthLine& left, const GrowthLine& right) {
    return precedes(left.first->variant, right.first->variant, by);
  });
  return lines;
}

// The parameters against which there are lines.
std::vector<std::string> find_growing_parameters(const Measured& measured,
                                                 const std::string& metric) {
  std::set<std::string> names;
  for (const Measurement* measurement : measured) {
    for (const auto& [name, value] : measurement->variant.params) names.insert(name);
  }
  std::vector<std::string> growing;
  for (const std::string& name : names) {
    if (!make_lines(name, measured, metric).empty()) growing.push_back(name);
  }
  return growing;
}

// `known` is not empty.
Expected<std::string> choose(const std::vector<std::string>& known, const PlotOptions& options) {
  if (!options.by && known.size() == 1) return known[0];
  if (!options.by) {
    return fail(printable(fmt::format("more than one parameter takes several values: `{}`",
                                      fmt::join(known, "`, `"))),
                "choose one, such as --by=" + printable(known[0]));
  }
  if (std::find(known.begin(), known.end(), *options.by) != known.end()) return *options.by;
  return fail(
      fmt::format("--by: there is no parameter `{}` that takes several numbers, all else equal",
                  printable(*options.by)),
      printable(did_you_mean(*options.by, known)));
}

Chart draw(const std::vector<GrowthLine>& lines, const std::string& by, const std::string& metric) {
  Measured drawn;
  for (const GrowthLine& line : lines) drawn.push_back(line.first);
  VariantNames names(drawn);
  Chart chart;
  chart.kind = ChartKind::kGrowth;
  chart.subtitle = names.common_to_lines();
  std::vector<double> numbers;
  std::vector<double> values;
  for (const GrowthLine& line : lines) {
    Series& series = chart.series.emplace_back();
    series.name = names.name_line(line.first->variant, by);
    series.look = chart.series.size();
    for (const auto& [number, point] : line.points) {
      numbers.push_back(number);
      values.push_back(point.y);
      if (point.spread) values.insert(values.end(), {point.spread->from, point.spread->to});
      series.points.push_back(point);
    }
  }
  chart.x = parameter_axis(by, numbers);
  chart.y = metric_axis(metric, values);
  chart.title = chart.y.title + " by " + by;
  return chart;
}

}  // namespace

Expected<Chart> growth_chart(const std::vector<Measurement>& measurements,
                             const PlotOptions& options) {
  Measured measured;
  for (const Measurement& measurement : measurements) {
    if (find_metric_value(measurement, options.metric)) measured.push_back(&measurement);
  }
  auto known = find_growing_parameters(measured, options.metric);
  if (known.empty()) return Chart{};
  return choose(known, options).map([&](const std::string& by) {
    return draw(make_lines(by, measured, options.metric), by, options.metric);
  });
}

}  // namespace instr
