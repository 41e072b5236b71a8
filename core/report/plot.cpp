#include "core/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/report/backend_summary.h"
#include "core/results/significance.h"

namespace instr {

namespace {

// Nothing if the metric is missing, cannot be drawn, or the measurement has not passed.
std::optional<double> find_metric_value(const Measurement& measurement, const std::string& metric) {
  auto value = find_working_metric(measurement, metric);
  return value && is_drawable(*value) ? value : std::nullopt;
}

// The median in nanoseconds, above 0; nothing if the variant does not work.
std::optional<double> find_wall(const Measurement& measurement) {
  const Timing* timing = find_working_timing(measurement);
  double wall = timing == nullptr ? 0 : median(timing->of(kWall));
  return wall > 0 && is_drawable(wall) ? std::optional(wall) : std::nullopt;
}

// The number that a parameter's text is, if it can be drawn.
std::optional<double> parse_drawable(const std::string& text) {
  const auto number = parse_number<double>(text);
  return number && is_drawable(std::fabs(*number)) ? number : std::nullopt;
}

// The order of names in a picture: by label and parameters, those that are numbers by their value,
// without the parameter `but`.
bool precedes(const Variant& left, const Variant& right, const std::string& but = "") {
  auto sortable = [&but](const Variant& variant) {
    std::vector<std::tuple<std::string, double, std::string>> params;
    for (const auto& [name, text] : variant.params) {
      if (name != but) params.emplace_back(name, parse_drawable(text).value_or(0), text);
    }
    return std::tuple(variant.label, std::move(params), variant.autograd, variant.threads,
                      variant.device, variant.language, variant.backend);
  };
  return sortable(left) < sortable(right);
}

// An empty series of the backend.
Series make_series(Backend backend) {
  return {facts_of(backend).title, static_cast<std::size_t>(backend), {}};
}

// Names of variants without the properties that all drawn variants have in common.
class VariantNames {
 public:
  explicit VariantNames(const std::vector<const Measurement*>& drawn) {
    for (const Measurement* measurement : drawn) {
      Facets facets = list_facets(measurement->variant);
      if (measurement == drawn.front()) common_ = facets;
      for (std::size_t i = 0; i < facets.size(); ++i) {
        is_common_[i] = is_common_[i] && facets[i] == common_[i];
      }
    }
  }

  // With the backend, but without the parameter `but`, whose values are on the line.
  std::string name_line(const Variant& variant, const std::string& but) const {
    return name_parameters(variant, but) + differing(variant, 0);
  }

  // Without the backend, which has a colour.
  std::string name_benchmark(const Variant& variant) const {
    return name_parameters(variant, "") + differing(variant, 1);
  }

  std::string common_to_lines() const { return common(0); }
  std::string common_to_benchmarks() const { return common(1); }

 private:
  // Backend, autograd, threads, device, language; empty: C++.
  using Facets = std::array<std::string, 5>;

  static Facets list_facets(const Variant& variant) {
    auto threads = static_cast<std::size_t>(std::max(variant.threads, 0));
    return {make_series(variant.backend).name, to_string(variant.autograd),
            format_plural(threads, "thread"), variant.device,
            variant.language == Language::kCpp ? "" : facts_of(variant.language).title};
  }

  static std::string name_parameters(const Variant& variant, const std::string& but) {
    std::string name = variant.label;
    for (const auto& [parameter, value] : variant.params) {
      if (parameter != but) name += " " + parameter + "=" + value;
    }
    return name;
  }

  std::string differing(const Variant& variant, std::size_t first) const {
    Facets facets = list_facets(variant);
    std::string text;
    for (std::size_t i = first; i < facets.size(); ++i) {
      if (!is_common_[i] && !facets[i].empty()) text += ", " + facets[i];
    }
    return text;
  }

  std::string common(std::size_t first) const {
    std::string text;
    for (std::size_t i = first; i < common_.size(); ++i) {
      if (is_common_[i] && !common_[i].empty()) text += (text.empty() ? "" : ", ") + common_[i];
    }
    return text;
  }

  Facets common_;
  std::array<bool, std::tuple_size_v<Facets>> is_common_{true, true, true, true, true};
};

}  // namespace

std::optional<Spread> find_spread(const Measurement& measurement, const std::string& metric) {
  const Timing* timing = find_working_timing(measurement);
  if (timing == nullptr) return std::nullopt;
  const auto half = quartiles(timing->of(metric));
  const bool is_there =
      half && half->lower > 0 && is_drawable(half->lower) && is_drawable(half->upper);
  return is_there ? std::optional(Spread{half->lower, half->upper}) : std::nullopt;
}

// The axes of a picture: gnuplot places the ticks.

namespace {

constexpr double kMin = 1e-30;
constexpr double kMax = 1e30;
constexpr double kLinearSpan = 8;   // small values on a wider linear axis all lie at the bottom
constexpr double kFewPowers = 200;  // a span for which powers of ten are too few ticks

struct Extremes {
  double min = 0;
  double max = 0;

  bool are_far_apart() const { return min > 0 && max / min > kLinearSpan; }
};

Extremes find_extremes(const std::vector<double>& values) {
  if (values.empty()) return {};
  auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {*min, *max};
}

bool has_few_powers(const Axis& axis) { return axis.to / axis.from <= kFewPowers; }

// The format of ticks: gnuplot writes %s and %c as the mantissa and its prefix (2.5 k).
std::string tick_format(const Axis& axis) {
  const char* number = "%.1s %c";
  if (axis.is_logarithmic) number = has_few_powers(axis) ? "%.2s %c" : "%.0s %c";
  switch (axis.unit) {
    case AxisUnit::kNanoseconds: return std::string(number) + "s";
    case AxisUnit::kBytes: return std::string(number) + "B";
    case AxisUnit::kRatio: return "%gx";
    case AxisUnit::kParameter: return "%.10g";
    case AxisUnit::kNumber: break;
  }
  return axis.to < 1000 ? "%g" : number;
}

// Ratios and parameters have powers of two; others powers of ten, or 1, 2, 4, 8 times a power of
// ten if there would be too few.
std::string logarithmic_lines(char axis, const Axis& of) {
  const bool is_base_2 = of.unit == AxisUnit::kRatio || of.unit == AxisUnit::kParameter;
  std::string text = fmt::format("set logscale {} {}\n", axis, is_base_2 ? 2 : 10);
  if (is_base_2 || !has_few_powers(of)) return text;
  const double first = std::pow(10, std::floor(std::log10(plotted(of, of.from))));
  return text + fmt::format("set {}tics {},2\nset m{}tics 1\n", axis, first, axis);
}

}  // namespace

bool is_drawable(double value) { return value == 0 || (value >= kMin && value <= kMax); }

Axis value_axis(std::string title, AxisUnit unit, const std::vector<double>& values) {
  Extremes extremes = find_extremes(values);
  if (!extremes.are_far_apart()) return bar_axis(std::move(title), unit, values);
  return {std::move(title), unit, true, extremes.min / 1.5, extremes.max * 1.5};
}

Axis bar_axis(std::string title, AxisUnit unit, const std::vector<double>& values) {
  double max = find_extremes(values).max;
  return {std::move(title), unit, false, 0, max > 0 ? max * 1.1 : 1};
}

Axis parameter_axis(std::string title, const std::vector<double>& values) {
  Extremes extremes = find_extremes(values);
  Axis axis{std::move(title), AxisUnit::kParameter, extremes.are_far_apart(), 0, 0};
  double around = 0.05 * (extremes.max - extremes.min);
  axis.from = axis.is_logarithmic ? extremes.min / 1.3 : extremes.min - around;
  axis.to = axis.is_logarithmic ? extremes.max * 1.3 : extremes.max + around;
  return axis;
}

std::string scale_lines(char axis, const Axis& of) {
  std::string text =
      fmt::format("set {0}range [{1}:{2}]\nset format {0} '{3}'\nset {0}tics nomirror scale 0.5\n",
                  axis, plotted(of, of.from), plotted(of, of.to), tick_format(of));
  return of.is_logarithmic ? text + logarithmic_lines(axis, of) : text;
}

double plotted(const Axis& axis, double value) {
  return axis.unit == AxisUnit::kNanoseconds ? value / 1e9 : value;
}

namespace {

// A metric against a parameter: how cost grows with n.

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

// Without series if no variant has the metric for two values of a number. Fails if there is a
// parameter to choose, or the chosen parameter does not exist.
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

// A picture with more cannot be read.
constexpr std::size_t kMaxBenchmarks = 100;
constexpr std::size_t kMaxSeries = 40;

struct Cluster {
  const Measurement* eager = nullptr;
  std::map<Backend, const Measurement*> timed;
};

// The benchmarks for which eager and another backend work.
std::vector<Cluster> collect_clusters(const std::vector<Measurement>& measurements) {
  std::map<Benchmark, std::size_t> places;
  std::vector<Cluster> all;
  for (const Measurement& measurement : measurements) {
    if (!find_wall(measurement)) continue;
    auto [place, is_new] = places.emplace(benchmark_of(measurement.variant), all.size());
    if (is_new) all.emplace_back();
    Cluster& cluster = all[place->second];
    if (measurement.variant.backend == Backend::kEager) cluster.eager = &measurement;
    cluster.timed[measurement.variant.backend] = &measurement;
  }
  std::erase_if(all, [](const Cluster& cluster) {
    return cluster.eager == nullptr || cluster.timed.size() < 2;
  });
  std::sort(all.begin(), all.end(), [](const Cluster& left, const Cluster& right) {
    return precedes(left.eager->variant, right.eager->variant);
  });
  return all;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the points are moved.
std::vector<Series> take_series(std::map<Backend, std::vector<ChartPoint>> points) {
  std::vector<Series> all;
  for (auto& [backend, some] : points) {
    all.push_back(make_series(backend));
    all.back().points = std::move(some);
  }
  return all;
}

std::optional<Speedup> find_speedup(const Measurement& eager, const Measurement& other) {
  return speedup_over(*find_working_timing(eager), *find_working_timing(other));
}

// find_wall() has found times above 0 of both.
double find_ratio(const Measurement& eager, const Measurement& other) {
  return find_speedup(eager, other).value_or(Speedup{}).ratio;
}

ChartPoint make_bar(const Measurement& eager, const Measurement& other, double place) {
  const auto known = find_speedup(eager, other);
  ChartPoint bar{find_ratio(eager, other), place};
  const auto interval = known ? known->interval : std::nullopt;
  if (interval && is_drawable(interval->first) && is_drawable(interval->second)) {
    bar.spread = Spread{interval->first, interval->second};
  }
  return bar;
}

void add_ends(std::vector<double>& values, double value, const std::optional<Spread>& spread) {
  values.push_back(value);
  if (spread) values.insert(values.end(), {spread->from, spread->to});
}

double find_best_speedup(const Cluster& cluster) {
  double best = 0;
  for (const auto& [backend, measurement] : cluster.timed) {
    if (backend == Backend::kEager) continue;
    best = std::max(best, find_ratio(*cluster.eager, *measurement));
  }
  return best;
}

Chart speedup_chart(const std::vector<Measurement>& measurements, bool is_sorted) {
  std::vector<Cluster> clusters = collect_clusters(measurements);
  if (is_sorted) {
    std::stable_sort(clusters.begin(), clusters.end(),
                     [](const Cluster& left, const Cluster& right) {
                       return find_best_speedup(left) > find_best_speedup(right);
                     });
  }
  std::vector<const Measurement*> drawn;
  for (const Cluster& cluster : clusters) drawn.push_back(cluster.eager);
  VariantNames names(drawn);
  Chart chart;
  chart.title = "Speed-up over eager";
  chart.subtitle = names.common_to_benchmarks();
  std::map<Backend, std::vector<ChartPoint>> points;
  std::vector<double> speedups{1};
  double place = 0;  // the position in bars; each side of a cluster has half a bar of space
  for (const Cluster& cluster : clusters) {
    double bars = static_cast<double>(cluster.timed.size() - 1);
    chart.groups.push_back({place + (bars + 1) / 2, names.name_benchmark(cluster.eager->variant)});
    for (const auto& [backend, measurement] : cluster.timed) {
      if (backend == Backend::kEager) continue;
      points[backend].push_back(make_bar(*cluster.eager, *measurement, place += 1));
      add_ends(speedups, points[backend].back().x, points[backend].back().spread);
    }
    place += 1;
  }
  chart.y.to = place;
  chart.x = bar_axis("Times as fast as eager (medians of wall times)", AxisUnit::kRatio, speedups);
  chart.series = take_series(std::move(points));
  return chart;
}

// A line for each backend: the share of benchmarks that are at least x times as fast as eager.
Chart distribution_chart(const std::vector<Measurement>& measurements) {
  std::map<Backend, std::vector<double>> speedups;
  std::vector<double> all{1};
  std::vector<const Measurement*> drawn;
  for (const Cluster& cluster : collect_clusters(measurements)) {
    drawn.push_back(cluster.eager);
    for (const auto& [backend, measurement] : cluster.timed) {
      if (backend == Backend::kEager) continue;
      speedups[backend].push_back(find_ratio(*cluster.eager, *measurement));
      all.push_back(speedups[backend].back());
    }
  }
  Chart chart;
  chart.kind = ChartKind::kDistribution;
  chart.title = "Distribution of speed-ups";
  chart.subtitle = VariantNames(drawn).common_to_benchmarks();
  chart.x = value_axis("Times as fast as eager, or more", AxisUnit::kRatio, all);
  chart.y = bar_axis("Share of benchmarks (%)", AxisUnit::kNumber, {0, 100});
  std::map<Backend, std::vector<ChartPoint>> points;
  if (!speedups.empty()) points[Backend::kEager] = {{1, 0}, {1, 100}};
  for (auto& [backend, some] : speedups) {
    std::sort(some.begin(), some.end());
    const auto count = static_cast<double>(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      points[backend].push_back({some[i], 100 * (count - static_cast<double>(i)) / count});
    }
  }
  chart.series = take_series(std::move(points));
  return chart;
}

Chart memory_chart(const std::vector<Measurement>& measurements) {
  std::vector<const Measurement*> drawn;
  for (const Measurement& measurement : measurements) {
    auto memory = find_working_peak(measurement);
    if (find_wall(measurement) && memory && is_drawable(*memory)) drawn.push_back(&measurement);
  }
  std::sort(drawn.begin(), drawn.end(), [](const Measurement* left, const Measurement* right) {
    return precedes(left->variant, right->variant);
  });
  const VariantNames names(drawn);
  std::map<Backend, std::vector<ChartPoint>> points;
  std::vector<double> memories;
  std::vector<double> walls;
  for (const Measurement* measurement : drawn) {
    const ChartPoint point{*find_working_peak(*measurement), *find_wall(*measurement),
                           find_spread(*measurement, kWall),
                           names.name_benchmark(measurement->variant)};
    memories.push_back(point.x);
    add_ends(walls, point.y, point.spread);
    points[measurement->variant.backend].push_back(point);
  }
  Chart chart;
  chart.kind = ChartKind::kMemory;
  chart.title = "Latency and memory";
  chart.subtitle = names.common_to_benchmarks();
  chart.x = value_axis(find_metric(kPeakBytes)->title, AxisUnit::kBytes, memories);
  chart.y = value_axis(find_metric(kWall)->title, AxisUnit::kNanoseconds, walls);
  chart.series = take_series(std::move(points));
  return chart;
}

Expected<Chart> build_chart(ChartKind kind, const std::vector<Measurement>& measurements,
                            const PlotOptions& options) {
  switch (kind) {
    case ChartKind::kSpeedup: break;
    case ChartKind::kGrowth: return growth_chart(measurements, options);
    case ChartKind::kMemory: return memory_chart(measurements);
    case ChartKind::kDistribution: return distribution_chart(measurements);
  }
  return speedup_chart(measurements, options.is_sorted);
}

Error nothing_for(ChartKind kind, const std::string& metric) {
  switch (kind) {
    case ChartKind::kGrowth:
      return {{},
              "nothing has `" + metric + "` for several values of a parameter that is a number",
              "measure a definition with a matrix, such as { n = [4, 64, 256] }: instr_bench "
              "--metrics=" +
                  metric + " --output=FILE"};
    case ChartKind::kMemory:
      return {{},
              "nothing has both a wall time and a peak of memory",
              "measure them: instr_bench --metrics=instructions,wall --output=FILE"};
    case ChartKind::kSpeedup:
    case ChartKind::kDistribution: break;
  }
  return {{},
          "nothing was timed with both eager and another backend",
          "measure it: instr_bench --metrics=instructions,wall --backend=all --output=FILE"};
}

Expected<Chart> nothing_to_draw(const std::vector<ChartKind>& kinds, const std::string& metric) {
  if (kinds.size() == 1) return fail(nothing_for(kinds[0], metric));
  std::string missing;
  for (ChartKind kind : kinds) {
    missing += (missing.empty() ? "" : "; ") + nothing_for(kind, metric).what;
  }
  return fail("there is nothing to draw: " + missing, nothing_for(kinds[0], metric).advice);
}

Expected<Chart> readable(Chart chart) {
  std::size_t lines = chart.kind == ChartKind::kGrowth ? chart.series.size() : 0;
  std::size_t benchmarks = chart.groups.size();
  if (lines <= kMaxSeries && benchmarks <= kMaxBenchmarks) return chart;
  std::string what =
      lines > 0 ? format_plural(lines, "line") : format_plural(benchmarks, "benchmark");
  const std::string other = lines > 0 ? "" : ", or draw --kind=distribution";
  return fail("a picture of " + what + " cannot be read",
              "choose some with --filter=REGEX or --backend=LIST" + other);
}

Expected<Chart> finished(Chart chart, const std::vector<Measurement>& measurements) {
  chart.left_out = static_cast<std::size_t>(
      std::count_if(measurements.begin(), measurements.end(),
                    [](const Measurement& measurement) { return !has_passed(measurement); }));
  return readable(std::move(chart));
}

}  // namespace

const char* to_string(ChartKind kind) {
  switch (kind) {
    case ChartKind::kGrowth: return "growth";
    case ChartKind::kMemory: return "memory";
    case ChartKind::kDistribution: return "distribution";
    case ChartKind::kSpeedup: break;
  }
  return "speedup";
}

Expected<Chart> make_chart(const std::vector<Measurement>& measurements,
                           const PlotOptions& options) {
  std::vector<ChartKind> kinds(std::begin(kChartKinds), std::end(kChartKinds));
  // A distribution is drawn only on request: results that have one also have speed-ups.
  std::erase(kinds, ChartKind::kDistribution);
  if (options.kind) kinds = {*options.kind};
  for (ChartKind kind : kinds) {
    TRY_ASSIGN(auto chart, build_chart(kind, measurements, options));
    if (!chart.series.empty()) return finished(std::move(chart), measurements);
  }
  return nothing_to_draw(kinds, options.metric);
}

std::vector<std::pair<ChartKind, Expected<Chart>>> make_charts(
    const std::vector<Measurement>& measurements, const std::string& metric) {
  std::vector<std::pair<ChartKind, Expected<Chart>>> charts;
  for (ChartKind kind : kChartKinds) {
    auto chart = build_chart(kind, measurements, {.kind = kind, .metric = metric, .by = {}});
    if (chart && chart->series.empty()) continue;
    if (chart) chart = finished(std::move(*chart), measurements);
    charts.emplace_back(kind, std::move(chart));
  }
  return charts;
}

Document chart_document(const Chart& chart) {
  const auto number = [](double value) { return number_cell(value, fmt::format("{:.4g}", value)); };
  const auto left = [](const char* name) {
    return DocumentColumn{.heading = name, .name = name, .align = Align::kLeft};
  };
  DocumentTable table{.columns = {left("series"),
                                  left("benchmark"),
                                  {"x", "x"},
                                  {"y", "y"},
                                  {"from", "from"},
                                  {"to", "to"}}};
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      const auto group = std::min_element(
          chart.groups.begin(), chart.groups.end(), [&point](const auto& a, const auto& b) {
            return std::fabs(a.middle - point.y) < std::fabs(b.middle - point.y);
          });
      const std::string& name = group == chart.groups.end() ? point.name : group->name;
      table.rows.push_back(
          {.cells = {text_cell(series.name), text_cell(name), number(point.x), number(point.y),
                     point.spread ? number(point.spread->from) : DocumentCell{},
                     point.spread ? number(point.spread->to) : DocumentCell{}}});
    }
  }
  Document document{.title = printable(chart.title)};
  for (const auto& [axis, title] : {std::pair{"x", chart.x.title}, {"y", chart.y.title}}) {
    if (!title.empty()) document.notes.push_back({.text = fmt::format("{}: {}", axis, title)});
  }
  add_records(document, table);
  document.tables.push_back(std::move(table));
  return document;
}

}  // namespace instr
