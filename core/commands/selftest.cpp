#include <fmt/format.h>
#include <unistd.h>

#include <set>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"
#include "core/commands/commands.h"
#include "core/compare/planted_changes.h"
#include "core/compile/installation.h"
#include "core/report/comparison_report.h"
#include "core/results/result_set.h"
#include "core/run/gate.h"

namespace instr {

namespace {

struct SelftestArguments {
  ToolConfig tools;
  int repetitions = 20;  // the number of unchanged runs
  Showing showing;
};

// Runs this program on the planted library, each time in a new process.
class Runs {
 public:
  Runs(const ToolConfig& tools, fs::path folder, std::stop_token stop)
      : folder_(std::move(folder)), stop_(std::move(stop)) {
    if (tools.libtorch) {
      common_.push_back("--libtorch=" + fs::absolute(*tools.libtorch).string());
    }
    if (tools.compiler) common_.push_back("--compiler=" + *tools.compiler);
    if (tools.valgrind) common_.push_back("--valgrind=" + *tools.valgrind);
    if (tools.jobs > 0) common_.push_back(fmt::format("--jobs={}", tools.jobs));
    if (tools.no_cache) common_.emplace_back("--no-cache");
    common_.push_back("--definitions=" + (find_installation().selftest / "planted.toml").string());
  }

  fs::path file(const std::string& name) const { return folder_ / (name + ".jsonl"); }

  // Returns the results of a run. Unless `base` is empty, compares them with the results `base` by
  // exact limits, and sets whether that failed.
  Expected<ResultSet> run(const std::string& name, const std::string& base,
                          std::vector<std::string> more, SpawnOptions spawn, bool& failed) {
    spawn.argv = {own_program(), "--quiet", "--format=jsonl", "--output=" + file(name).string()};
    if (!base.empty()) {
      spawn.argv.push_back("--baseline=" + file(base).string());
      spawn.argv.push_back("--limit=" + exact_limits());
    }
    spawn.argv.insert(spawn.argv.end(), common_.begin(), common_.end());
    spawn.argv.insert(spawn.argv.end(), more.begin(), more.end());
    TRY_ASSIGN(auto ended, run_command(spawn, stop_));
    failed = ended.exit_code == kRegression;
    if (ended.exit_code != kGood && !failed) {
      return fail(fmt::format("the run `{}` ended with status {}: {}", name, ended.exit_code,
                              ended.errors));
    }
    return read_result_set(file(name), name);
  }

 private:
  const fs::path folder_;
  const std::stop_token stop_;
  std::vector<std::string> common_;
};

Expected<Comparison> compare_exactly(const ResultSet& before, const ResultSet& after) {
  CompareOptions options;
  TRY_ASSIGN(options.limits.hard, parse_limits(exact_limits()));
  return compare(before, after, options);
}

bool print_finding(const Plant& plant, const PlantFinding& finding, bool color) {
  auto mark = [color](bool good) {
    return styled(good ? "yes" : "NO ", good ? Style::kGood : Style::kBad, color);
  };
  return print_output(fmt::format(
      "{}  {}  {:>6}  {}    {:>6}  {}         {}\n", pad_right(plant.what, 28),
      pad_right(finding.key, 54), format_change(finding.change), mark(finding.is_found),
      format_change(finding.function_change), mark(finding.is_attributed), plant.function));
}

struct Tally {
  std::size_t planted = 0;
  std::size_t caught = 0;  // found and attributed
  std::size_t runs = 0;
  std::size_t alarms = 0;
};

Expected<void> check_plants(Runs& runs, Progress& progress, bool color, Tally& tally) {
  bool failed = false;
  progress.phase("counting the library without plants");
  TRY_ASSIGN(auto base, runs.run("base", "", {}, {}, failed));
  std::string heading =
      fmt::format("{}  {}  {:>6}  {}  {:>6}  {}  {}", pad_right("planted", 28),
                  pad_right("benchmark", 54), "change", "found", "there", "attributed", "function");
  print_output(styled(heading, Style::kHeading, color) + "\n");
  for (const Plant& plant : plants()) {
    progress.phase(fmt::format("planting {}", plant.what));
    std::string build = (find_installation().selftest / plant.build).string() + ".toml";
    TRY_ASSIGN(auto after, runs.run(plant.build, "base", {"--build=" + build}, {}, failed));
    TRY_ASSIGN(auto comparison, compare_exactly(base, after));
    progress.phase("");
    for (const PlantFinding& finding : judge_plant(plant, comparison)) {
      ++tally.planted;
      if (failed && finding.is_found && finding.is_attributed) ++tally.caught;
      if (!print_finding(plant, finding, color)) return fail("standard output was closed");
    }
  }
  return {};
}

// Varies the environment, the folder, the heap and the order of a run.
SpawnOptions perturbed(int number, const fs::path& folder) {
  SpawnOptions spawn;
  std::map<std::string, std::string> variables{
      {"INSTR_TEST_CHURN", std::to_string(number * 777 % 20000)},
      {"INSTR_TEST_REVERSE", std::to_string(number % 2)}};
  for (int i = 0; i <= number % 7; ++i) {
    variables[fmt::format("SELFTEST_{}", i)] = std::string(37 * number + i, 'x');
  }
  spawn.environment = own_environment(variables);
  fs::path directory = folder / std::string(1 + number % 40, 'd');
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  spawn.working_directory = directory;
  return spawn;
}

std::vector<std::string> perturbed_options(int number) {
  std::vector<std::string> options{fmt::format("--jobs={}", 1 + number % 3)};
  if (number % 5 == 4) options.emplace_back("--exclude=/n=4/");
  return options;
}

Expected<void> check_alarms(Runs& runs, const fs::path& folder, int repetitions, Progress& progress,
                            Tally& tally) {
  bool failed = false;
  std::vector<std::string> common{"--definitions=" + find_installation().definitions.string(),
                                  "--tag=standard", "--threads=1"};
  progress.phase("counting the standard set");
  if (repetitions == 0) return {};
  TRY_ASSIGN(auto base, runs.run("unchanged", "", common, {}, failed));
  for (int number = 1; number <= repetitions; ++number) {
    progress.phase(fmt::format("unchanged run {} of {}", number, repetitions));
    std::vector<std::string> more = common;
    for (std::string& option : perturbed_options(number)) more.push_back(std::move(option));
    TRY_ASSIGN(auto after, runs.run("again", "unchanged", more, perturbed(number, folder), failed));
    std::set<std::string> measured;
    for (const Measurement& measurement : after.results.measurements)
      measured.insert(measurement.variant.key);
    TRY_ASSIGN(auto comparison,
               compare_exactly(keep_selected(base,
                                             [&](const Variant& variant) {
                                               return measured.contains(variant.key);
                                             }),
                               after));
    auto alarms = find_false_alarms(comparison);
    ++tally.runs;
    if (failed || !alarms.empty()) ++tally.alarms;
    progress.phase("");
    for (const std::string& key : alarms) {
      print_output(fmt::format("unchanged run {}: {} differs\n", number, key));
    }
  }
  print_output(
      fmt::format("\n{} unchanged runs of {} benchmarks, each with another environment, folder, "
                  "order, heap and number of jobs\n",
                  repetitions, base.results.measurements.size()));
  return {};
}

ExpectedStatus run_selftest(const SelftestArguments& options, std::stop_token stop) {
  bool color = inspect_terminal(STDOUT_FILENO, options.showing.color).color;
  TRY_ASSIGN(auto folder, PrivateFolder::make());
  Runs runs(options.tools, folder.path(), stop);
  Progress progress(progress_options(options.showing));
  Tally tally;
  auto checked = check_plants(runs, progress, color, tally).and_then([&] {
    return check_alarms(runs, folder.path(), options.repetitions, progress, tally);
  });
  progress.finish();
  if (stop.stop_requested()) return kInterrupted;
  if (!print_output("")) return kGood;  // finish_output() has the status
  TRY(checked);
  bool good = tally.planted > 0 && tally.caught == tally.planted && tally.alarms == 0;
  std::string sum = fmt::format(
      "{} of {} slow-downs found and attributed; {} of {} unchanged runs raised an alarm",
      tally.caught, tally.planted, tally.alarms, tally.runs);
  print_output(styled(sum, good ? Style::kGood : Style::kBad, color) + "\n");
  return good ? kGood : kNotMeasured;
}

}  // namespace

Action selftest_command(CommandLine& line) {
  auto options = std::make_shared<SelftestArguments>();
  line.describe(
      "Proves the check on this machine: plants slow-downs of known size in a small library, and "
      "shows that each is found and attributed to its function, and that no alarm is raised in N "
      "runs of unchanged code with other environments, folders, orders, numbers of jobs and "
      "heaps.");
  line.group("How to measure");
  line.option("--repetitions,--repeats", "N", "runs of unchanged code (20)",
              take_number(options->repetitions, 0));
  declare_tools(line, options->tools);
  line.group("What to show");
  declare_showing(line, options->showing);
  line.section("Exit status", "  0 all found and no false alarm; 1 otherwise; 2 setup\n");
  return
      [options](const Invocation& invocation) { return run_selftest(*options, invocation.stop); };
}

}  // namespace instr
