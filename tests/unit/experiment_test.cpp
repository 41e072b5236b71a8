// Experiments as values: their lines, and their summary.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/report/backend_summary.h"
#include "core/report/formats.h"
#include "core/report/run_report.h"
#include "core/results/results_file.h"
#include "tests/golden.h"
#include "tests/testing.h"
#include "tests/unit/experiment_testing.h"

namespace instr::experiment_test {
namespace {

using namespace testing;

Measurement of_many_parts() {
  Measurement one = measured("m/n=4/torchscript/forward_backward/t2/cpu", {2000, 1000, 3000}, 64,
                             VerificationCode::kPass);
  one.variant.label = "m";
  one.variant.params = {{"batch_size", "16"}, {"n", "4"}};
  one.variant.where.file = "some/suite.toml";
  timing_of(one).eager = {4000, 5000, 6000};
  timing_of(one).others = 0.5;
  auto& counted = std::get<Counted>(one.outcome);
  counted.compiler =
      CompilerReport{{{"a.toml:3:1", "a loop", 1}, {"", "print", 2}},
                     {{"b.py:3", "size", 1}},
                     {{"aten::nonzero", 2}},
                     {{"frames", {{"ok", 2}, {"total", 3}}}},
                     {{"inductor", {{"eager", 9}, {"inductor", 7}}, {{"tvm", "no"}}}, {"eager"}}};
  counted.operators = {{"aten::mm", false, 7, 1500, 2500}};
  one.depends_on.entries = {{kDeviceModel, "a CPU"}, {"file a.py", "12ab"}};
  return one;
}

Measurement of_xla() {
  Measurement one = measured("m/py/xla/forward/t1/cpu", {4000, 3000, 5000}, 64);
  one.variant.where.file = "suite.toml";
  Timing& timing = timing_of(one);
  timing.values[kTraceTime] = {1000, 1000, 2000};
  timing.values["xla_compile_time"] = {0, 0, 0};
  timing.values["xla_compilations"] = {0, 0, 0};
  timing.values["xla_execute_time"] = {500, 400, 600};
  timing.values["xla_executions"] = {1, 1, 1};
  auto& counted = std::get<Counted>(one.outcome);
  counted.metrics[kReadyTime] = 2e6;
  counted.metrics["ready_trace_time"] = 1e6;
  counted.metrics["ready_xla_compile_time"] = 4e5;
  counted.metrics["ready_xla_compilations"] = 2;
  counted.metrics["ready_xla_execute_time"] = 3000;
  counted.metrics["ready_xla_executions"] = 3;
  counted.metrics[kOperatorsCpu] = 2500;
  counted.metrics[kOperatorsDevice] = 0;
  counted.compiler.emplace().unlowered = {{"aten::nonzero", 40}};
  counted.operators = {{"aten::nonzero", false, 2, 1500, 2500}, {"aten::mm", false, 1, 9, 9}};
  return one;
}

TEST(ExperimentResults, AreLinesOfResults) {
  const Measurement one = of_many_parts();
  const std::string line = to_line(to_json(one));
  const auto read =
      value_of(parse_results(to_line(to_json(make_results_header({}, {}))) + "\n" + line + "\n",
                             "r", Incomplete::kAllowed));
  const Measurement& back = read.measurements.at(0);
  EXPECT_EQ(to_line(to_json(back)), line);
  const auto& counted = std::get<Counted>(back.outcome);
  EXPECT_EQ(counted.compiler, std::get<Counted>(one.outcome).compiler);
  EXPECT_EQ(counted.operators, std::get<Counted>(one.outcome).operators);
  EXPECT_EQ(counted.timing->eager, (std::vector<double>{4000, 5000, 6000}));
  EXPECT_EQ(counted.timing->others, 0.5);
  EXPECT_EQ(back.depends_on.get("file a.py"), "12ab");
  EXPECT_EQ(suite_of(back.variant), "suite");
}

TEST(ExperimentLines, AreThoseOfTheRunnerOfXla) {
  ReportOptions options;
  options.header.emplace().started = "2026-01-02T03:04:05Z";
  const Measurement crashed{parse_key("a/py/openxla/forward/t1/cpu"),
                            Failure{FailureKind::kCrashed, "SIGSEGV"}, 0};
  std::string text;
  for (const Measurement& one : {of_many_parts(), of_xla(), crashed}) {
    const std::string line = report_experiment_lines({one}, options);
    EXPECT_TRUE(line.ends_with("}\n"));
    text += json_lines(nlohmann::ordered_json::parse(line)) + "\n";
  }
  EXPECT_GOLDEN("experiment/lines.txt", text);
}

// As recorded with torch_xla 2.9.0, of a model that calls torch.unique(), for which XLA has no
// code.
TEST(ExperimentLines, OfARealRunOnXla) {
  const std::string text = to_line(to_json(make_results_header({}, {}))) + "\n" +
                           text_of(fixture("experiment/xla.json"));
  const auto results = value_of(parse_results(text, "r", Incomplete::kAllowed));
  const std::string line = report_experiment_lines(results.measurements, {});
  EXPECT_GOLDEN("experiment/xla_line.txt", json_lines(nlohmann::ordered_json::parse(line)));
}

nlohmann::ordered_json line_of_runner(const Measurement& one) {
  return nlohmann::ordered_json::parse(report_experiment_lines({one}, {}));
}

// The readers compare the times of runs with one another, whatever their numbers of iterations.
TEST(ExperimentLines, RunsHaveTheSameNumberOfIterations) {
  Measurement one = measured("a/py/inductor/forward/t1/cpu", {2e9, 1e9, 3e9}, 64);
  timing_of(one).iterations = 700;
  auto line = line_of_runner(one);
  EXPECT_EQ(line.at("iterations_per_run"), 1);
  EXPECT_EQ(line.at("timed_iterations"), 700);
  EXPECT_EQ(line.at("metrics").at("total_time"), (std::vector<double>{0.005, 2, 1, 3}));
  one.depends_on.entries = {{kIterationsField, "100"}};
  timing_of(one).iterations = 100;
  std::get<Counted>(one.outcome).metrics[kReadyTime] = 5e9;
  line = line_of_runner(one);
  EXPECT_EQ(line.at("iterations_per_run"), 100);
  EXPECT_EQ(line.at("repeat"), 4);  // three timed runs and one that compiles
  EXPECT_EQ(line.at("metrics").at("total_time"), (std::vector<double>{5 + 99 * 2, 200, 100, 300}));
  EXPECT_DOUBLE_EQ(line.at("metrics").at("per_iter_time").at(0), 2.03);
}

// The readers know an experiment by the names of its suite and model, `test`, `batch_size`, `xla`
// and `dynamo`.
TEST(ExperimentLines, TellExperimentsApart) {
  std::set<std::string> seen;
  for (const char* key :
       {"a/eager/forward/t1/cpu", "a/py/eager/forward/t1/cpu", "a/torchscript/forward/t1/cpu",
        "a/frozen/forward/t1/cpu", "a/py/xla/forward/t1/cpu", "a/py/openxla/forward/t1/cpu",
        "a/py/eager/forward/t2/cpu", "a/n=2/py/eager/forward/t1/cpu",
        "a/dtype=bfloat16/py/eager/forward/t1/cpu", "a/setting=fast/py/eager/forward/t1/cpu",
        "a/shapes=dynamic/py/eager/forward/t1/cpu", "a/batch_size=2/py/eager/forward/t1/cpu",
        "a/py/eager/forward_backward/t1/cpu"}) {
    Measurement one = measured(key, {2000}, 64);
    one.variant.label = "a";
    if (const auto at = std::string(key).find('='); at != std::string::npos) {
      const std::string param = std::string(key).substr(2, at - 2);
      one.variant.params = {{param, "7"}};
    }
    const auto line = line_of_runner(one);
    const auto& experiment = line.at("experiment");
    const std::string known = line.at("model").dump() + experiment.at("test").dump() +
                              experiment.at("xla").dump() + experiment.at("dynamo").dump() +
                              experiment.at("batch_size").dump();
    EXPECT_TRUE(seen.insert(known).second) << key << " is taken for another one: " << known;
  }
}

TEST(ExperimentResults, ACompilersStartIsColdAndWarm) {
  std::map<std::string, double> metrics{
      {kWall, 2000}, {"ready", 5e6}, {"warm_ready", 1000}, {"ready_cpu", 4e6}};
  replace_ready_times(metrics);
  EXPECT_EQ(metrics.at("ready"), 5e6);
  EXPECT_FALSE(metrics.contains("ready_cpu"));
  EXPECT_EQ(metrics.at("compile_time"), 5e6 - 2000);
  EXPECT_EQ(metrics.at("warm_compile_time"), 0);
  EXPECT_EQ(metrics.at("compile_cpu_time"), 4e6 - 2000);
  EXPECT_FALSE(metrics.contains("warm_compile_cpu_time"));
}

std::vector<BackendSummary> summarized(const std::vector<Measurement>& measurements) {
  return summarize_backends(measurements, Grouping::kBySuiteAndAxes);
}

TEST(ExperimentSummary, OnlyPassedOnesCountForSpeedup) {
  const std::string end = "/forward/t1/cpu";
  std::vector<Measurement> records;
  auto add = [&](Measurement measurement) { records.push_back(std::move(measurement)); };
  for (const char* label : {"a", "b", "c"}) {
    add(measured(std::string(label) + "/eager" + end, {8, 8, 8}, 400));
  }
  add(measured("a/frozen" + end, {2, 2, 2}, 100, VerificationCode::kPass));
  add(measured("b/frozen" + end, {8, 8, 8}, 400, VerificationCode::kPass));
  add(measured("c/frozen" + end, {0.1, 0.1, 0.1}, 1, VerificationCode::kFail));
  add({parse_key("a/aoti" + end), Skipped{"no package"}, 0});
  auto summaries = summarized(beside_eager(records));
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].backend, Backend::kEager);
  EXPECT_EQ(summaries[0].measured, 3u);
  const BackendSummary& frozen = summaries[1];
  EXPECT_EQ(frozen.requested, 3u);
  EXPECT_EQ(frozen.measured, 3u);
  EXPECT_EQ(frozen.passed, 2u);
  EXPECT_NEAR(*frozen.speedup, 2, 1e-9);       // of 4 and 1
  EXPECT_NEAR(*frozen.memory_ratio, 2, 1e-9);  // of 4 and 1
  EXPECT_NEAR(*frozen.compile_time, 0.005, 1e-6);
  EXPECT_EQ(frozen.not_passed, (std::map<std::string, std::size_t>{{"FAIL", 1}}));
  EXPECT_EQ(experiment_line(records), "7 experiments: 6 measured, 1 skipped");
  EXPECT_GOLDEN("experiment/summary.txt",
                render(ReportFormat::kTable, {.tables = {experiment_table(summaries)}}));
}

Measurement in_suite(const std::string& suite, const Measurement& measurement) {
  Measurement one = measurement;
  one.variant.where.file = "suites/" + suite + ".toml";
  return one;
}

TEST(ExperimentSummary, IsBySuiteAndSaysHowOftenEachIsTheFastest) {
  const std::string end = "/forward/t1/cpu";
  std::vector<Measurement> records;
  for (const char* suite : {"one", "two"}) {
    const std::string label = std::string(suite) + "/m";
    records.push_back(in_suite(suite, measured(label + "/eager" + end, {8, 8.1, 8.2, 8.3}, 400)));
    const double factor = suite[0] == 'o' ? 0.5 : 2;
    records.push_back(in_suite(
        suite,
        measured(label + "/frozen" + end, {8 * factor, 8.1 * factor, 8.2 * factor, 8.3 * factor},
                 400, VerificationCode::kPass)));
  }
  const auto summaries = summarized(records);
  ASSERT_EQ(summaries.size(), 4u);
  EXPECT_EQ(summaries[0].group.suite, "one");
  EXPECT_EQ(summaries[0].fastest, 0u);
  EXPECT_EQ(summaries[1].fastest, 1u);
  EXPECT_NEAR(*summaries[1].speedup, 2, 1e-9);
  EXPECT_EQ(summaries[2].fastest, 1u);  // eager
  EXPECT_NEAR(*summaries[3].speedup, 0.5, 1e-9);
  const DocumentTable table = experiment_table(summaries);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[3].group, "two");
  EXPECT_EQ(table.rows[3].cells[0].text, "two frozen");
}

TEST(ExperimentSummary, TakesNoMeanAcrossTestsTypesOrThreads) {
  std::vector<Measurement> records;
  for (const char* end :
       {"dtype=amp/BACKEND/forward/t1/cpu", "dtype=float32/BACKEND/forward/t10/cpu",
        "dtype=float32/BACKEND/forward/t2/cpu", "dtype=float32/BACKEND/forward_backward/t2/cpu"}) {
    for (const char* backend : {"eager", "frozen"}) {
      std::string key = std::string("m/") + end;
      key.replace(key.find("BACKEND"), 7, backend);
      records.push_back(in_suite("timm", measured(key, {8, 8.1}, 400, VerificationCode::kPass)));
    }
  }
  const DocumentTable table = experiment_table(summarized(records));
  ASSERT_EQ(table.rows.size(), 8u);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table.rows.size(); i += 2) {
    names.push_back(table.rows[i].group);
    EXPECT_EQ(table.rows[i + 1].group, table.rows[i].group);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"eval amp 1 thread", "eval float32 2 threads",
                                      "eval float32 10 threads", "train float32 2 threads"}));
  EXPECT_EQ(table.rows[7].cells[0].text, "train float32 2 threads frozen");
}

TEST(ExperimentFindings, ListWhatIsSlowLargeOrWrong) {
  const std::string end = "/forward/t1/cpu";
  std::vector<Measurement> records;
  const auto add = [&](const std::string& key, double time, double bytes, VerificationCode code) {
    records.push_back(
        measured(key + end, {time, time * 1.01, time * 1.02, time * 1.03}, bytes, code));
  };
  const auto titles = [&] {
    std::string text;
    for (const DocumentTable& table : find_findings(beside_eager(records))) {
      text += table.title + ":";
      for (const DocumentRow& row : table.rows) text += " " + row.cells[0].text;
      text += "\n";
    }
    return text;
  };
  for (const char* model : {"a", "b", "c", "d"}) {
    add(std::string(model) + "/eager", 10, 1000, VerificationCode::kVerifierSkipped);
  }
  add("a/frozen", 9, 1000, VerificationCode::kPass);
  EXPECT_EQ(titles(), "");
  add("b/frozen", 12, 1000, VerificationCode::kPass);
  add("c/frozen", 20, 1200, VerificationCode::kPass);
  add("d/frozen", 90, 9000, VerificationCode::kFail);  // only wrong: its figures mean nothing
  EXPECT_GOLDEN("experiment/findings.txt", titles());
  for (const std::size_t i : {1, 4}) {
    std::get<Counted>(records[i].outcome).metrics["compile_time"] = 121e9;
  }
  EXPECT_GOLDEN("experiment/findings_with_compile_times.txt", titles());
}

// Speed-ups of 4 and 1.
TEST(ExperimentSummary, HasTheArithmeticMeanOnRequest) {
  const std::string end = "/forward/t1/cpu";
  const auto summaries = summarized(
      beside_eager({measured("a/eager" + end, {8, 8, 8}, 400), measured("b/eager" + end, {8}, 400),
                    measured("a/frozen" + end, {2, 2, 2}, 100, VerificationCode::kPass),
                    measured("b/frozen" + end, {8}, 400, VerificationCode::kPass)}));
  const DocumentTable usual = experiment_table(summaries);
  const DocumentTable table = experiment_table(summaries, {.has_arithmetic_mean = true});
  EXPECT_EQ(usual.columns.size() + 1, table.columns.size());
  EXPECT_EQ(table.columns[4].name, "speedup");
  EXPECT_EQ(table.columns[5].name, "speedup_arithmetic");
  EXPECT_EQ(table.rows[0].cells[5].text, "-");
  EXPECT_EQ(table.rows[1].cells[4].text, "2.00x");
  EXPECT_EQ(table.rows[1].cells[5].text, "2.50x");
  EXPECT_EQ(table.rows[1].cells[6].text, usual.rows[1].cells[5].text);
}

TEST(ExperimentFindings, HaveTheLimitsThatAreRequested) {
  const std::string end = "/forward/t1/cpu";
  std::vector<Measurement> records =
      beside_eager({measured("a/eager" + end, {8, 8.1, 8.2, 8.3}, 1000),
                    measured("a/frozen" + end, {4, 4.1, 4.2, 4.3}, 800, VerificationCode::kPass)});
  std::get<Counted>(records[1].outcome).metrics["compile_time"] = 10e9;
  EXPECT_TRUE(find_findings(records).empty());
  EXPECT_EQ(count_flagged(records, {}), 0u);
  const FlagLimits strict{.speedup = 2.5, .compile_time = 9.5, .memory_ratio = 1.5};
  std::vector<std::string> titles;
  for (const DocumentTable& table : find_findings(records, strict)) titles.push_back(table.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"slower than 2.5x", "compiled longer than 9.5 s",
                                              "more memory than 1/1.5 of eager's"}));
  EXPECT_EQ(count_flagged(records, strict), 1u);  // one experiment, three reasons
  EXPECT_EQ(count_flagged(records, {.memory_ratio = 1.25}), 0u);
  EXPECT_EQ(each_experiment_table(records, strict).rows[1].cells[2].tone, Tone::kWarning);
}

// An experiment with these graph breaks, of which a share of the operators is in graphs.
Measurement with_breaks(const std::string& key, double share, std::vector<CompilerNote> breaks) {
  Measurement one = measured(key, {4, 4.1, 4.2, 4.3}, 400, VerificationCode::kPass);
  auto& counted = std::get<Counted>(one.outcome);
  double count = 0;
  for (const CompilerNote& note : breaks) count += static_cast<double>(note.count);
  counted.metrics["graphs"] = count + 1;
  counted.metrics[kGraphBreaks] = count;
  counted.metrics[kCoverageOperators] = share;
  counted.metrics[kCoverageTime] = share / 2;
  counted.compiler.emplace().graph_breaks = std::move(breaks);
  return one;
}

TEST(ExperimentFindings, ListWhatIsLeastInGraphs) {
  const std::string end = "/py/inductor/forward/t1/cpu";
  const std::vector<Measurement> records{
      with_breaks("a" + end, 1, {}), with_breaks("b" + end, 0.75, {{"b.py:3", "a print", 2}}),
      with_breaks("c" + end, 0.5, {{"c.py:4", "a loop", 1}, {"", "sleep", 1}})};
  const auto findings = find_findings(records);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "least in graphs of torch.compile()");
  ASSERT_EQ(findings[0].rows.size(), 2u);
  std::vector<std::string> texts;
  for (const DocumentCell& cell : findings[0].rows[0].cells) texts.push_back(cell.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"c, Python Inductor", "50.0%", "25.0%", "3", "2",
                                             "c.py:4: a loop; sleep"}));
  const DocumentTable table = experiment_table(summarized(records));
  EXPECT_EQ(table.rows[0].cells[10].text, "75.0%");
  EXPECT_EQ(table.columns[10].name, kCoverageOperators);
  EXPECT_EQ(table.rows[0].cells[11].text, "37.5%");
}

TEST(ExperimentFindings, NameEachGraphBreak) {
  const std::string end = "/py/inductor/forward/t1/cpu";
  std::vector<Measurement> records{
      with_breaks("a" + end, 1, {}),
      with_breaks("b" + end, 0.5, {{"c.py:4", "a loop", 1}, {"", "sleep", 3}}),
      with_breaks("c" + end, 0.5, {{"c.py:4", "a loop", 2}})};
  // A worker may count breaks without naming them.
  std::get<Counted>(records[2].outcome).compiler.reset();
  const DocumentTable table = graph_break_table(records);
  EXPECT_GOLDEN("experiment/graph_breaks.txt", render(ReportFormat::kTable, {.tables = {table}}));
  EXPECT_TRUE(graph_break_table({records[0]}).rows.empty());
}

// Models a and b: the fastest other backend is twice as fast, and as fast as eager.
TEST(ExperimentSummary, ComparesTheBestPerGraphWithTheBestPerModel) {
  const std::string end = "/forward/t1/cpu";
  const auto chooser = [&](const char* model, double time, std::vector<GraphChoice> choices) {
    Measurement one = measured(std::string(model) + "/py/best" + end,
                               {time, time * 1.01, time * 1.02}, 400, VerificationCode::kPass);
    std::get<Counted>(one.outcome).compiler.emplace().choices = std::move(choices);
    return one;
  };
  std::vector<Measurement> records = beside_eager(
      {measured("a/py/eager" + end, {8, 8.08, 8.16}, 400),
       measured("b/py/eager" + end, {8, 8.08, 8.16}, 400),
       measured("a/py/inductor" + end, {4, 4.04, 4.08}, 400, VerificationCode::kPass),
       measured("b/py/inductor" + end, {16, 16.16, 16.32}, 400, VerificationCode::kPass),
       measured("a/py/aot_eager" + end, {1, 1.01, 1.02}, 400, VerificationCode::kFail),
       chooser("a", 2, {{"inductor"}, {"eager"}, {"inductor"}}), chooser("b", 8, {{"eager"}})});
  const auto summaries = summarized(records);
  const BackendSummary& best = summaries.back();
  ASSERT_EQ(best.backend, Backend::kBest);
  EXPECT_NEAR(*best.speedup, 2, 1e-9);                       // geometric mean of 4 and 1
  EXPECT_NEAR(*best.speedup_per_model, std::sqrt(2), 1e-9);  // geometric mean of 2 and 1
  EXPECT_EQ(best.chosen, (std::map<std::string, std::size_t>{{"eager", 2}, {"inductor", 2}}));
  EXPECT_FALSE(summaries[0].speedup_per_model);
  EXPECT_EQ(experiment_line(records),
            "7 experiments: 7 measured; best per graph: eager 2, inductor 2");
  EXPECT_GOLDEN("experiment/choices.txt",
                render(ReportFormat::kTable, {.tables = {*choice_table(summaries)}}));
  records.resize(4);
  EXPECT_FALSE(choice_table(summarized(records)));
}

TEST(ExperimentFindings, AreTheWorstOfMany) {
  std::vector<Measurement> records;
  for (int i = 0; i < 25; ++i) {
    const std::string end = "/forward/t1/cpu";
    const std::string label = "m" + std::to_string(i);
    const double time = 20.0 + i;
    records.push_back(measured(label + "/eager" + end, {1, 1.1, 1.2, 1.3}, 1));
    records.push_back(measured(label + "/frozen" + end, {time, time + 1, time + 2, time + 3}, 1,
                               VerificationCode::kPass));
  }
  const auto findings = find_findings(beside_eager(records));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rows.size(), kMaxFindings);
  EXPECT_EQ(findings[0].rows[0].cells[0].text, "m24, frozen");
  EXPECT_EQ(findings[0].rows.back().lines, "and 5 more\n");
}

TEST(ExperimentFindings, NameTheOperatorsThatWereNotLowered) {
  const std::string key = "m/py/openxla/forward/t1/cpu";
  Measurement one = measured(key, {4}, 1, VerificationCode::kPass);
  auto& compiler = std::get<Counted>(one.outcome).compiler.emplace();
  EXPECT_TRUE(find_findings({one}).empty());
  compiler.unlowered = {{"aten::_unique2", 4}, {"aten::nonzero", 2}};
  const auto findings = find_findings({one});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "operators that the compiler left to LibTorch");
  EXPECT_EQ(findings[0].rows[0].cells[1].text, "aten::_unique2, aten::nonzero");
}

TEST(ExperimentFindings, EachHasItsPValue) {
  const std::string end = "/forward/t1/cpu";
  const std::vector<Measurement> records{
      measured("m/eager" + end, {8, 8.1, 8.2, 8.3, 8.4}, 400),
      measured("m/frozen" + end, {4, 4.1, 4.2, 4.3, 4.4}, 400, VerificationCode::kPass)};
  EXPECT_GOLDEN(
      "experiment/each_with_its_p_value.txt",
      render(ReportFormat::kTable, {.tables = {each_experiment_table(beside_eager(records))}}));
}

// 10 rounds, of which a load makes the last five slower.
std::vector<double> loaded(double time) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) times.push_back((i < 5 ? time : 2 * time) + 0.01 * i);
  return times;
}

TEST(ExperimentSummary, MarksSpeedupsThatCannotBeTrusted) {
  const std::string end = "/forward/t1/cpu";
  const auto findings_of = [&](const std::function<void(Measurement&)>& change) {
    std::vector<Measurement> records{
        measured("m/eager" + end, {8, 8.1, 8.2, 8.3, 8.2}, 400),
        measured("m/frozen" + end, {4, 4.1, 4.2, 4.3, 4.2}, 400, VerificationCode::kPass)};
    records = beside_eager(records);
    change(records[1]);
    const BackendSummary frozen = summarized(records)[1];
    const std::string mean = experiment_table({frozen}).rows[0].cells[4].text;
    std::string text = fmt::format("{} of {}", frozen.disturbed, mean);
    for (const DocumentTable& table : find_findings(records)) {
      text += fmt::format("; {}: {}", table.title, table.rows[0].cells[2].text);
    }
    return text;
  };
  const std::string mark = "1 of ~1.95x; ~ speed-ups that cannot be trusted: ";
  EXPECT_EQ(findings_of([](Measurement& one) { timing_of(one).others = 0.1; }), "0 of 1.95x");
  EXPECT_EQ(findings_of([](Measurement& one) { timing_of(one).others = 1; }),
            mark + "other processes used 1.0 cores");
  EXPECT_EQ(findings_of([](Measurement& one) { timing_of(one).eager.clear(); }),
            mark + "not timed alternately with eager");
  EXPECT_EQ(findings_of([](Measurement& one) {
              timing_of(one).eager = loaded(8);
              timing_of(one).values[kWall] = loaded(4);
            }),
            "1 of ~1.99x; ~ speed-ups that cannot be trusted: times rose by 101% halfway");
}

// A load that slows both sides alike leaves the speed-up as it is.
TEST(ExperimentSummary, ComparesWithTheEagerOfTheSameProcess) {
  const std::string end = "/forward/t1/cpu";
  std::vector<Measurement> records{
      measured("m/eager" + end, {8, 8.1, 8.2, 8.3}, 400),
      measured("m/frozen" + end, {80, 81, 82, 83}, 400, VerificationCode::kPass),
      measured("m/optimized" + end, {7, 7.1, 7.2, 7.3}, 400, VerificationCode::kPass)};
  records = beside_eager(records);
  for (double& time : timing_of(records[1]).eager) time *= 20;
  const auto summaries = summarized(records);
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_NEAR(*summaries[1].speedup, 2, 1e-9);
  EXPECT_EQ(summaries[1].fastest, 1u);
  EXPECT_EQ(summaries[2].fastest, 0u);
}

}  // namespace
}  // namespace instr::experiment_test
