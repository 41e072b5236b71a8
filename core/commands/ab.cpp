#include <unistd.h>

#include <algorithm>
#include <thread>

#include "core/base/environment.h"
#include "core/base/output_file.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/report/flame.h"
#include "core/results/result_set.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

struct AbArguments {
  PlanConfig plan;
  MeasureConfig measure;
  // The settings under test: one of these has two values, the others at most one.
  std::vector<std::string> libtorchs;
  std::vector<std::string> builds;
  std::vector<std::string> compilers;
  GateOptions gate;
  std::vector<std::string> metrics;
  std::optional<fs::path> output;  // a folder
  std::optional<fs::path> flames;  // a folder
  ComparisonShowing how;

  // The option with two values; null unless there is exactly one.
  const char* under_test() const {
    const char* name = nullptr;
    for (const auto& [option, values] :
         {std::pair{"libtorch", &libtorchs}, {"build", &builds}, {"compiler", &compilers}}) {
      if (values->size() < 2) continue;
      if (values->size() > 2 || name != nullptr) return nullptr;
      name = option;
    }
    return name;
  }
};

// A side of the comparison: the configuration, and the results.
struct Side {
  std::string name = {};
  PlanConfig plan = {};
  MeasureConfig measure = {};
  std::vector<Variant> variants = {};
  std::optional<Recorder> recorder = {};
};

// Configures the first or the second side, which gets half of the cores: both count at the same
// time.
void set_side(const AbArguments& options, std::size_t which, Side& side) {
  side.plan = options.plan;
  side.measure = options.measure;
  auto value = [&](const std::vector<std::string>& values) -> std::optional<std::string> {
    if (values.empty()) return std::nullopt;
    if (values.size() > 1) side.name = values[which];
    return values.size() > 1 ? values[which] : values[0];
  };
  side.measure.tools.libtorch = value(options.libtorchs);
  side.measure.tools.compiler = value(options.compilers);
  side.plan.build = value(options.builds);
  const int jobs = options.measure.tools.jobs;
  side.measure.tools.jobs =
      std::max(1, (jobs > 0 ? jobs : static_cast<int>(std::ssize(usable_cores()))) / 2);
}

// Opens a results file in --output-dir.
Expected<std::optional<ResultsTarget>> open_results(const AbArguments& options, const char* name) {
  if (!options.output) return std::optional<ResultsTarget>();
  TRY(make_output_folder(*options.output,
                         "ab writes a.jsonl and b.jsonl to the folder --output-dir"));
  return ResultsTarget::open(*options.output / name);
}

// Counts both at the same time, each on half of the cores; then times them alternately.
Expected<void> measure_both(Side (&sides)[2], const std::vector<std::string>& command,
                            Progress& progress, std::stop_token stop) {
  std::optional<Expected<std::unique_ptr<Session>>> counted[2];
  auto count = [&](int i) {
    Side& side = sides[i];
    counted[i].emplace(
        count_all({side.measure, {}, command}, side.variants, progress, *side.recorder, stop));
  };
  {
    std::jthread first([&] { count(0); });
    count(1);
  }
  std::vector<Session*> sessions;
  for (auto& one : counted) {
    TRY(*one);
    sessions.push_back((**one).get());
  }
  if (!Session::time(sessions, stop)) return {};
  for (Session* session : sessions) {
    TRY(session->inspect(stop));
  }
  return {};
}

Expected<Comparison> compare_sides(const AbArguments& options, const Gate& gate, Side (&sides)[2],
                                   std::vector<FieldDifference>& differences) {
  ResultSet sets[2];
  for (int i = 0; i < 2; ++i) {
    sets[i] = make_result_set(sides[i].name, sides[i].recorder->header().value_or(ResultsHeader{}),
                              sides[i].recorder->in_order_of(sides[i].variants));
  }
  std::vector<std::string> vary = options.gate.vary;
  // The user's own build is not a field of the fingerprint.
  if (options.builds.size() < 2) vary.emplace_back(options.under_test());
  Reference before{std::move(sets[0]), false, {}};
  TRY_ASSIGN(differences, check_comparable(before, sets[1].results.header, vary));
  TRY_ASSIGN(auto comparison, compare_with(before, sets[1], gate));
  if (options.flames) {
    TRY(write_flames(*options.flames, comparison, before.set, sets[1]));
  }
  return comparison;
}

ExpectedStatus run_ab(const AbArguments& options, const std::vector<std::string>& command,
                      std::stop_token stop) {
  TRY_ASSIGN(auto gate, open_gate(options.gate));
  TRY(prepare_flames(options.flames, {}));
  Side sides[2];
  Progress progress(progress_options(options.how.showing));
  const char* files[2] = {"a.jsonl", "b.jsonl"};
  for (int i = 0; i < 2; ++i) {
    set_side(options, static_cast<std::size_t>(i), sides[i]);
    TRY_ASSIGN(sides[i].variants, plan(sides[i].plan));
    TRY_ASSIGN(auto output, open_results(options, files[i]));
    sides[i].recorder.emplace(std::move(output), [&progress](const Error& error) {
      progress.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
    });
  }
  const MeasureConfig& measure = options.measure;
  const std::size_t passes = (measure.wants_counts ? 1 : 0) + (measure.wants_times ? 1 : 0);
  progress.expect(passes * (sides[0].variants.size() + sides[1].variants.size()));
  auto measured = measure_both(sides, command, progress, stop);
  progress.finish();
  const bool is_complete = measured && !stop.stop_requested();
  for (Side& side : sides) side.recorder->finish(is_complete);
  if (stop.stop_requested()) return kInterrupted;
  TRY(measured);
  for (const Side& side : sides) {
    if (!side.recorder->could_write()) return kBadSetup;
  }
  std::vector<FieldDifference> differences;
  TRY_ASSIGN(auto comparison, compare_sides(options, gate, sides, differences));
  return show_comparison(options.how, comparison, differences);
}

Expected<void> check(AbArguments& options) {
  if (options.under_test() == nullptr) {
    return fail("ab compares two values of one setting",
                "give --libtorch, --build or --compiler twice, and the others at most once");
  }
  set_needs(options.plan, options.measure, options.metrics, limited_metrics(options.gate));
  options.measure.wants_functions = true;
  options.measure.call_paths = options.flames.has_value();
  TRY(check_functions(options.measure));
  options.gate.compare.wants_lines = options.measure.wants_lines;
  return prepare_comparison(options.how.format, options.gate.compare);
}

void declare_sides(CommandLine& line, AbArguments& options) {
  line.group("What to compare: one of these twice");
  line.option("--libtorch", "DIR", "a LibTorch", add_text(options.libtorchs));
  line.option("--build", "FILE",
              "a TOML file whose [build] says how your library is built and linked",
              add_text(options.builds));
  line.option("--compiler", "PROGRAM", "a C++ compiler", add_text(options.compilers));
}

}  // namespace

Action ab_command(CommandLine& line) {
  auto options = std::make_shared<AbArguments>();
  line.describe(
      "Measures the same definitions with two LibTorch builds, two builds of your own library or "
      "two compilers, counting both at the same time and timing them alternately, and compares the "
      "results.");
  declare_sides(line, *options);
  declare_plan(line, options->plan);
  line.group("How to measure");
  declare_jobs(line, options->measure.tools);
  declare_counting(line, options->measure);
  declare_timing(line, options->measure);
  line.group("What fails");
  declare_gate(line, options->gate, options->how.show_same);
  line.group("What to show and keep");
  declare_metrics(line, options->metrics);
  line.option("-o,--output-dir,--output", "DIR", "keep both results there, as a.jsonl and b.jsonl",
              take_path(options->output));
  declare_flames(line, options->flames, "measured for that");
  declare_functions(line, options->measure);
  declare_lines(line, options->measure.wants_lines, options->how.format);
  declare_format(line, options->how.format, comparison_formats());
  declare_show_keys(line, options->how.showing);
  declare_showing(line, options->how.showing);
  line.check([options = options.get()] { return check(*options); });
  line.section("Exit status", "  0 B is within the limits of A; 2 setup; 3 beyond a limit\n");
  return [options](const Invocation& invocation) {
    return run_ab(*options, invocation.words, invocation.stop);
  };
}

}  // namespace instr
