#include "core/report/plot.h"

#include <cmath>
#include <limits>
#include <set>

#include "core/report/formats.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::plot_test {
namespace {

using namespace testing;

using Params = std::vector<std::pair<std::string, std::string>>;

Measurement made(const std::string& label, Params params, Backend backend,
                 std::map<std::string, double> metrics) {
  Measurement measurement;
  measurement.variant.label = label;
  measurement.variant.params = std::move(params);
  measurement.variant.backend = backend;
  Counted counted;
  if (metrics.contains("wall")) {
    counted.timing.emplace();
    // The median is the middle one, whatever the others.
    counted.timing->values[kWall] = {metrics["wall"] * 9, metrics["wall"], 0};
  }
  counted.metrics = std::move(metrics);
  measurement.outcome = std::move(counted);
  return measurement;
}

Measurement timed(const std::string& label, Backend backend, double wall) {
  return made(label, {}, backend, {{"wall", wall}});
}

Measurement counted(const std::string& label, Params params, double ir) {
  return made(label, std::move(params), Backend::kEager,
              {{"instructions", ir}, {"allocs", ir / 2}});
}

Chart good(const std::vector<Measurement>& measurements, const PlotOptions& options = {}) {
  return value_of(make_chart(measurements, options));
}

std::string error_of(const std::vector<Measurement>& measurements,
                     const PlotOptions& options = {}) {
  return error_text(make_chart(measurements, options));
}

// The script without the sizes and margins of the page.
std::string drawing_of(const Chart& chart) {
  const std::string script = plot_script(chart);
  return script.substr(script.find("set label "));
}

using Names = std::vector<std::string>;

Names benchmarks_of(const Chart& chart) {
  Names names;
  for (const BarGroup& group : chart.groups) names.push_back(group.name);
  return names;
}

TEST(Plot, HasItsValuesAsADocument) {
  const Chart chart = good({timed("a", Backend::kEager, 8), timed("a", Backend::kFrozen, 4),
                            timed("b", Backend::kEager, 8), timed("b", Backend::kFrozen, 2)});
  EXPECT_EQ(render(ReportFormat::kCsv, chart_document(chart)),
            "series,benchmark,x,y,from,to\r\nfrozen,a,2,1,,\r\nfrozen,b,4,3,,\r\n");
}

TEST(PlotAxis, DrawsWhatCanBeMeasured) {
  EXPECT_TRUE(is_drawable(0) && is_drawable(1e-9) && is_drawable(1e18));
  for (double no : {-1.0, 1e300, 1e-300, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(is_drawable(no)) << no;
  }
}

TEST(PlotAxis, IsLogarithmicBeyondAFactorOf8) {
  EXPECT_FALSE(value_axis("", AxisUnit::kNumber, {1, 8}).is_logarithmic);
  EXPECT_TRUE(value_axis("", AxisUnit::kNumber, {1, 8.01}).is_logarithmic);
  EXPECT_FALSE(value_axis("", AxisUnit::kNumber, {0, 1, 100}).is_logarithmic);
  EXPECT_FALSE(bar_axis("", AxisUnit::kRatio, {1, 100}).is_logarithmic);
  EXPECT_TRUE(parameter_axis("n", {4, 64}).is_logarithmic);
  EXPECT_FALSE(parameter_axis("n", {-4, 64}).is_logarithmic);
}

TEST(PlotAxis, TellsGnuplotItsUnit) {
  std::string text;
  const auto add = [&text](const std::string& name, AxisUnit unit, double min, double max) {
    text += "# " + name + "\n" + scale_lines('y', value_axis("", unit, {min, max}));
  };
  add("3,000 to 3,000,000 ns", AxisUnit::kNanoseconds, 3000, 3e6);
  add("0 to 2,500", AxisUnit::kNumber, 0, 2500);
  add("0 to 100", AxisUnit::kNumber, 0, 100);
  add("1,500 to 30,000 bytes", AxisUnit::kBytes, 1500, 30000);
  add("ratios of 0.3 to 3", AxisUnit::kRatio, 0.3, 3);
  EXPECT_GOLDEN("plot/axes.gnuplot", text);
}

TEST(PlotSpeedup, IsOfMediansOfWallTimes) {
  Chart chart = good({timed("b", Backend::kEager, 8), timed("b", Backend::kFrozen, 16),
                      timed("b", Backend::kTorchScript, 4), timed("a", Backend::kTorchScript, 30),
                      timed("a", Backend::kEager, 3), timed("alone", Backend::kEager, 1),
                      timed("no eager", Backend::kFrozen, 1)});
  EXPECT_GOLDEN("plot/speedup.gnuplot", plot_script(chart));
}

TEST(PlotSpeedup, LeavesOutWhatIsWrong) {
  std::vector<Measurement> all{
      timed("a", Backend::kEager, 8),
      verified(timed("a", Backend::kFrozen, 1), VerificationCode::kPass),
      verified(timed("a", Backend::kTorchScript, 1), VerificationCode::kFail)};
  Chart chart = good(all);
  ASSERT_EQ(chart.series.size(), 1u);
  EXPECT_EQ(chart.series[0].name, "frozen");
  EXPECT_EQ(chart.left_out, 1u);
}

TEST(PlotSpeedup, NamesWhatDiffers) {
  std::vector<Measurement> all;
  for (const char* n : {"16", "4"}) {
    for (int threads : {1, 2}) {
      for (Backend backend : {Backend::kEager, Backend::kFused}) {
        all.push_back(made("mm", {{"n", n}}, backend, {{"wall", 5}}));
        all.back().variant.threads = threads;
      }
    }
  }
  Chart chart = good(all);
  EXPECT_EQ(benchmarks_of(chart), (Names{"mm n=4, 1 thread", "mm n=4, 2 threads",
                                         "mm n=16, 1 thread", "mm n=16, 2 threads"}));
  EXPECT_EQ(chart.subtitle, "forward, cpu");
}

TEST(PlotGrowth, IsALineForAllElse) {
  Measurement script = counted("mm", {{"n", "4"}, {"type", "half"}}, 7);
  script.variant.backend = Backend::kTorchScript;
  Chart chart =
      good({counted("mm", {{"n", "256"}, {"type", "half"}}, 900),
            counted("mm", {{"n", "4"}, {"type", "half"}}, 10),
            counted("mm", {{"n", "4"}, {"type", "float"}}, 20),
            counted("mm", {{"n", "64"}, {"type", "float"}}, 30), counted("add", {}, 1), script,
            verified(counted("mm", {{"n", "8"}, {"type", "half"}}, 1), VerificationCode::kFail)});
  EXPECT_GOLDEN("plot/growth.gnuplot", plot_script(chart));
  EXPECT_EQ(chart.left_out, 1u);
}

TEST(PlotGrowth, IsOfTheMetricAndByTheParameterAskedFor) {
  std::vector<Measurement> all{counted("mm", {{"m", "1"}, {"size", "2"}}, 10),
                               counted("mm", {{"m", "2"}, {"size", "2"}}, 20),
                               counted("mm", {{"m", "2"}, {"size", "4"}}, 40)};
  Chart chart = good(all, {.metric = "allocs", .by = "size"});
  ASSERT_EQ(chart.series.size(), 1u);
  EXPECT_EQ(chart.series[0].name, "mm m=2");
  EXPECT_EQ(chart.series[0].points, (std::vector<ChartPoint>{{2, 10}, {4, 20}}));
  EXPECT_EQ(chart.y.title, "Allocations per iteration");
}

TEST(PlotSpeedup, IsSortedOnRequest) {
  const std::vector<Measurement> all{
      timed("a", Backend::kEager, 10), timed("a", Backend::kFused, 8),
      timed("b", Backend::kEager, 10), timed("b", Backend::kFused, 2),
      timed("c", Backend::kEager, 10), timed("c", Backend::kFused, 5)};
  EXPECT_EQ(benchmarks_of(good(all)), (Names{"a", "b", "c"}));
  EXPECT_EQ(benchmarks_of(good(all, {.is_sorted = true})), (Names{"b", "c", "a"}));
}

TEST(PlotDistribution, IsTheShareThatIsAtLeastAsFast) {
  const std::vector<Measurement> all{
      timed("a", Backend::kEager, 10),
      timed("a", Backend::kFused, 5),
      timed("b", Backend::kEager, 10),
      timed("b", Backend::kFused, 20),
      timed("c", Backend::kEager, 10),
      verified(timed("c", Backend::kFused, 1), VerificationCode::kFail)};
  const Chart chart = good(all, {.kind = ChartKind::kDistribution});
  EXPECT_GOLDEN("plot/distribution.gnuplot", drawing_of(chart));
  EXPECT_EQ(chart.left_out, 1u);
}

TEST(PlotMemory, IsAPointForEachOfABackend) {
  Chart chart = good({made("a", {}, Backend::kEager, {{"wall", 100}, {"peak_bytes", 64}}),
                      made("a", {{"n", "x"}}, Backend::kEager, {{"wall", 300}, {"peak_bytes", 32}}),
                      made("b", {}, Backend::kAoti,
                           {{"wall", 5}, {"peak_bytes", 16}, {"device_peak_bytes", 4096}}),
                      made("timed alone", {}, Backend::kEager, {{"wall", 5}}),
                      counted("counted alone", {}, 1)});
  EXPECT_GOLDEN("plot/memory.gnuplot", drawing_of(chart));
}

Measurement repeated(const std::string& label, Backend backend, std::vector<double> walls) {
  Measurement measurement =
      made(label, {{"n", "4"}}, backend, {{"wall", median(walls)}, {"peak_bytes", 8}});
  std::get<Counted>(measurement.outcome).timing->values[kWall] = std::move(walls);
  return measurement;
}

TEST(PlotSpread, IsTheMiddleHalfOfTheRepetitions) {
  const Measurement eager = repeated("a", Backend::kEager, {20, 20, 20, 20, 20, 20, 20});
  const Measurement fused = repeated("a", Backend::kFused, {100, 4, 5, 10, 12, 20, 30});
  EXPECT_EQ(find_spread(fused, "wall"), (Spread{7.5, 25}));
  const Chart bars = good({eager, fused});
  EXPECT_EQ(bars.series[0].points[0].x, 20.0 / 12);
  // The rank test does not reject the ninth to the 41st of the 49 ratios.
  EXPECT_EQ(bars.series[0].points[0].spread, (Spread{20 / 30.0, 20 / 5.0}));
  EXPECT_GT(bars.x.to, 20 / 5.0);
  EXPECT_GOLDEN("plot/speedup_with_intervals.gnuplot", drawing_of(bars));
  PlotOptions options{.kind = ChartKind::kMemory};
  EXPECT_EQ(good({fused}, options).series[0].points[0].spread, (Spread{7.5, 25}));
  Measurement more = repeated("a", Backend::kFused, {1, 1, 1, 1});
  more.variant.params = {{"n", "5"}};
  options.kind = ChartKind::kGrowth;
  options.metric = "wall";
  const Chart lines = good({fused, more}, options);
  EXPECT_EQ(lines.series[0].points[0].spread, (Spread{7.5, 25}));
  EXPECT_GOLDEN("plot/growth_with_spread.gnuplot", drawing_of(lines));
}

TEST(PlotSpread, IsNotThereWhereNothingWasRepeated) {
  EXPECT_FALSE(find_spread(repeated("a", Backend::kEager, {1, 2, 3}), "wall"));
  EXPECT_FALSE(find_spread(repeated("a", Backend::kEager, {0, 0, 0, 5}), "wall"));
  EXPECT_FALSE(find_spread(repeated("a", Backend::kEager, {1, 2, 3, 4}), "peak_bytes"));
  const std::string exact =
      plot_script(good({counted("mm", {{"n", "4"}}, 1), counted("mm", {{"n", "8"}}, 2)}));
  EXPECT_HAS(exact, "$series0 using 1:2 with linespoints");
}

TEST(Plot, DrawsTheFirstKindThatThereIsDataFor) {
  std::vector<Measurement> all{made("a", {}, Backend::kEager, {{"wall", 1}, {"peak_bytes", 1}})};
  EXPECT_EQ(good(all).kind, ChartKind::kMemory);
  all.push_back(counted("mm", {{"n", "1"}}, 1));
  all.push_back(counted("mm", {{"n", "2"}}, 2));
  EXPECT_EQ(good(all).kind, ChartKind::kGrowth);
  all.push_back(made("a", {}, Backend::kFused, {{"wall", 1}, {"peak_bytes", 1}}));
  EXPECT_EQ(good(all).kind, ChartKind::kSpeedup);
  EXPECT_EQ(good(all, {.kind = ChartKind::kMemory}).kind, ChartKind::kMemory);
}

TEST(Plot, SaysWhatIsMissing) {
  const auto of_kind = [](ChartKind kind) {
    const PlotOptions options{.kind = kind};
    return options;
  };
  const std::vector<Measurement> wrong{
      timed("a", Backend::kEager, 8),
      verified(timed("a", Backend::kTorchScript, 1), VerificationCode::kFail)};
  const std::vector<Measurement> no_growth{counted("mm", {{"n", "4"}, {"type", "a"}}, 10),
                                           counted("mm", {{"n", "x"}, {"type", "b"}}, 10),
                                           counted("add", {{"n", "64"}}, 10)};
  const std::vector<Measurement> two_parameters{counted("mm", {{"m", "1"}, {"size", "2"}}, 10),
                                                counted("mm", {{"m", "2"}, {"size", "2"}}, 20),
                                                counted("mm", {{"m", "2"}, {"size", "4"}}, 40)};
  EXPECT_GOLDEN("plot/errors.txt", error_of({}) + "\n" +
                                       error_of({}, of_kind(ChartKind::kDistribution)) + "\n" +
                                       error_of(wrong, of_kind(ChartKind::kSpeedup)) + "\n" +
                                       error_of(no_growth, of_kind(ChartKind::kGrowth)) + "\n" +
                                       error_of(two_parameters) + "\n" +
                                       error_of(two_parameters, {.by = "sise"}) + "\n");
}

TEST(Plot, RefusesWhatNobodyCanRead) {
  std::vector<Measurement> all;
  for (int i = 0; i < 41; ++i) {
    for (const char* n : {"1", "2"}) all.push_back(counted("a" + std::to_string(i), {{"n", n}}, 1));
  }
  EXPECT_EQ(error_of(all),
            "a picture of 41 lines cannot be read: choose some with --filter=REGEX or "
            "--backend=LIST");
  all.resize(80);
  EXPECT_EQ(good(all).series.size(), 40u);
}

TEST(PlotScript, DoesNotDependOnTheOrderOfMeasuring) {
  std::vector<Measurement> all{
      counted("mm", {{"m", "1"}, {"n", "4"}}, 1), counted("mm", {{"m", "1"}, {"n", "64"}}, 2),
      counted("mm", {{"m", "x"}, {"n", "4"}}, 3), counted("mm", {{"m", "x"}, {"n", "64"}}, 4)};
  std::string script = plot_script(good(all));
  std::swap(all[0], all[3]);
  EXPECT_EQ(plot_script(good(all)), script);
}

// The tests of formats check the pictures of gnuplot.
TEST(PlotScript, QuotesWhatItIsGiven) {
  Chart chart = good({timed("it's `date` \"$(x)\" @y\n\\", Backend::kEager, 2),
                      timed("it's `date` \"$(x)\" @y\n\\", Backend::kFused, 1)});
  EXPECT_GOLDEN("plot/quoted_names.gnuplot", drawing_of(chart));
}

TEST(PlotScript, EachBackendHasAColour) {
  Chart chart;
  chart.kind = ChartKind::kDistribution;
  for (std::size_t i = 0; i < kBackends.size(); ++i) {
    chart.series.push_back({.name = kBackends[i].name, .look = i, .points = {{1, 1}, {2, 2}}});
  }
  const std::string script = plot_script(chart);
  const std::string mark = " dt 1 lc rgb '";  // of lines
  std::set<std::string> colours;
  for (auto at = script.find(mark); at != script.npos; at = script.find(mark, at + 1)) {
    colours.insert(script.substr(at + mark.size(), 7));
  }
  EXPECT_EQ(colours.size(), kBackends.size());
}

}  // namespace
}  // namespace instr::plot_test
