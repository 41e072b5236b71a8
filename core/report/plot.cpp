#include "core/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/format.h"
#include "core/report/backend_summary.h"
#include "core/report/plot_values.h"
#include "core/results/significance.h"

namespace instr {

namespace {

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
