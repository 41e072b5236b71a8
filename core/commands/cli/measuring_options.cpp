#include <fmt/format.h>

#include <cstdlib>
#include <span>

#include "core/base/error.h"
#include "core/commands/cli/options.h"
#include "core/commands/cli/values.h"
#include "core/definitions/metrics.h"
#include "core/run/config.h"

namespace instr {

namespace {

using Metrics = std::span<const Metric>;

// "ir, allocs; simulated: cache (d1_misses, ...); without Valgrind: wall, ..."
std::string metrics_help() {
  std::string help;
  std::string how;
  for (const MetricGroupFacts& group : kMetricGroups) {
    std::string words = list_of(names_of(metrics_of(group.group)));
    if (group.word != nullptr) words = fmt::format("{} ({})", group.word, words);
    if (help.empty()) {
      help = words;
    } else {
      help += how == group.how ? ", " + words : fmt::format("; {}: {}", group.how, words);
    }
    how = group.how;
  }
  return help;
}

struct TestSetting {
  const char* variable;
  Take take;
};

// Stores the settings for tests of this program: INSTR_TEST_* in the environment (CONTRIBUTING.md).
Expected<void> read_test_settings(PlanConfig& plan, MeasureConfig& measure) {
  const Choices<Isolation> isolations{{"fork", Isolation::kFork}, {"process", Isolation::kProcess}};
  const Choices<bool> switches{{"0", false}, {"1", true}};
  const TestSetting settings[] = {
      {"INSTR_TEST_CHURN", take_number(measure.churn, 0)},
      {"INSTR_TEST_ISOLATION", take_choice(measure.isolation, isolations)},
      {"INSTR_TEST_RETRIES", take_number(measure.retries, 0)},
      {"INSTR_TEST_REVERSE", take_choice(plan.is_reversed, switches)},
  };
  for (const auto& [variable, take] : settings) {
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    if (auto taken = take({variable, value}); !taken) {
      return fail(std::string(variable) + ": " + taken.error().what, taken.error().advice);
    }
  }
  return {};
}

Choices<DumpPart> dump_parts() {
  Choices<DumpPart> parts;
  for (const DumpPartFacts& known : kDumpParts) parts.emplace_back(known.name, known.part);
  return parts;
}

}  // namespace

void declare_dump(CommandLine& line, MeasureConfig& config, const char* folder) {
  std::string help;
  for (const DumpPartFacts& known : kDumpParts) {
    help += fmt::format("{}{} ({})", help.empty() ? "" : ", ", known.name, known.what);
  }
  config.dump_folder = folder;
  const auto take = [&config](const Given& given) {
    return choice_from(given, dump_parts()).map([&config](DumpPart part) {
      config.dump.insert(part);
    });
  };
  line.option("--dump", "LIST", help, each_item(take), names_of(dump_parts()));
  line.option("--dump-dir,--dump-folder", "DIR",
              fmt::format("where to, a folder per benchmark ({})", folder),
              take_path(config.dump_folder));
  line.needs(
      {"dump-dir"}, [&config] { return !config.dump.empty(); }, "--dump");
}

void declare_jobs(CommandLine& line, ToolConfig& tools) {
  line.option("-j,--jobs", "N", "cores to use (default: all)",
              take_number(tools.jobs, 1, kMaxJobs));
  line.flag("--no-cache", "recompile everything, keep nothing", tools.no_cache);
}

void declare_tools(CommandLine& line, ToolConfig& tools) {
  line.option("--libtorch", "DIR",
              "the LibTorch to measure (default: TORCH_DIR, CMAKE_PREFIX_PATH, the active "
              "Python's, the system's)",
              take_path(tools.libtorch));
  line.option("--compiler", "PROGRAM", "the C++ compiler (default: clang++, else g++)",
              take_text(tools.compiler));
  line.option("--python", "PROGRAM",
              "the interpreter for snippets in Python (default: the LibTorch's own, else the "
              "active one)",
              take_text(tools.python));
  line.option("--valgrind", "PROGRAM", "the Valgrind (default: INSTR_BENCH_VALGRIND, else PATH)",
              take_text(tools.valgrind));
  declare_jobs(line, tools);
}

void declare_build(CommandLine& line, std::optional<fs::path>& build) {
  line.option("--build", "FILE", "a TOML file whose [build] replaces the definitions' own",
              take_path(build));
}

void declare_counting(CommandLine& line, MeasureConfig& config) {
  line.option("--timeout", "SECONDS",
              "stop a benchmark that has used this much CPU time, or was idle for as long (60)",
              take_seconds(config.timeout));
  line.flag(
      "--warm",
      "keep LibTorch started after the run, for ten idle minutes: the next run with --warm is "
      "ready at once (see instr_bench warm)",
      config.is_warm);
  line.check([&config]() -> Expected<void> {
    if (!config.is_warm || (config.isolation == Isolation::kFork && config.churn == 0)) return {};
    return fail("--warm does not go with INSTR_TEST_ISOLATION=process or INSTR_TEST_CHURN",
                "omit one of them");
  });
}

void declare_functions(CommandLine& line, MeasureConfig& config) {
  const Choices<bool> kinds{{"native", false}, {"python", true}};
  line.option("--functions", "KIND",
              "native (default): of LibTorch, CPython and other libraries; or python: of Python, "
              "each with all that it calls natively",
              take_choice(config.follows_calls, kinds), names_of(kinds));
}

Expected<void> check_functions(const MeasureConfig& config) {
  if (config.is_warm && config.call_paths) {
    return fail("--warm does not go with --call-paths or --flame: warm workers merge the paths",
                "omit --warm");
  }
  if (!config.follows_calls || (!config.call_paths && !config.wants_lines)) return {};
  return fail(config.call_paths ? "call paths and flame graphs are of native functions"
                                : "--lines needs native code",
              "omit --functions=python");
}

void declare_measuring(CommandLine& line, PlanConfig& plan, MeasureConfig& config) {
  declare_tools(line, config.tools);
  declare_build(line, plan.build);
  line.check([&plan, &config] { return read_test_settings(plan, config); });
  declare_counting(line, config);
}

void declare_timing(CommandLine& line, MeasureConfig& config) {
  line.option("--repetitions", "N", "how often a benchmark is timed (10)",
              take_number(config.repetitions, 2, kMaxRepetitions));
  line.option("--min-time", "SECONDS", "the minimum length of each repetition (0.05)",
              take_seconds(config.min_time));
}

void declare_metrics(CommandLine& line, std::vector<std::string>& metrics) {
  const Choices<Metrics> known = metric_words();
  line.option("--metrics", "LIST", metrics_help(), each_item([&metrics, known](const Given& given) {
                return choice_from({given.option, metric_name(given.value)}, known)
                    .map([&metrics](Metrics some) {
                      for (const Metric& metric : some) metrics.emplace_back(metric.name);
                    });
              }),
              names_of(known));
}

}  // namespace instr
