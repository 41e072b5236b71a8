#include "core/commands/cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "core/base/error.h"
#include "core/base/output.h"
#include "core/compile/installation.h"
#include "core/definitions/definition_keys.h"
#include "core/definitions/metrics.h"
#include "core/definitions/torchbench.h"
#include "core/report/comparison_report.h"
#include "core/report/formats.h"

namespace instr {

namespace {

Take take_backends(std::vector<Backend>& backends) {
  const Take take = each_item([&backends](const Given& given) -> Expected<void> {
    TRY_ASSIGN(const auto backend, parse_backend(given.value));
    backends.push_back(backend);
    return {};
  });
  return [&backends, take](const Given& given) -> Expected<void> {
    if (given.value != "all") return take(given);
    backends.insert(backends.end(), kAllBackends.begin(), kAllBackends.end());
    return {};
  };
}

std::vector<std::string> backend_words() {
  std::vector<std::string> words;
  for (const BackendFacts& known : kBackends) words.emplace_back(known.name);
  words.emplace_back("all");
  return words;
}

// Lists the default backends, then those that have to be named.
std::string backends_help() {
  std::vector<std::string> usual;
  std::vector<std::string> others;
  for (const BackendFacts& known : kBackends) {
    (known.is_usual ? usual : others).emplace_back(known.name);
  }
  return list_of(usual) + "; only when named: " + list_of(others) +
         "; any other that torch.compile() knows, or MODULE:FUNCTION; or all of the above but best";
}

void declare_axes(CommandLine& line, Selection& selection, const std::string& threads_help) {
  Choices<Autograd> autograds;
  for (const char* name : kAutogradNames) autograds.emplace_back(name, parse_autograd(name));
  Choices<Language> languages;
  for (const LanguageFacts& known : kLanguages) languages.emplace_back(known.name, known.language);
  line.option("--language", "LIST", list_of(names_of(languages)) + ": of the snippets",
              add_choices(selection.languages, languages), names_of(languages));
  line.option("--backend,--runtime", "LIST", backends_help(), take_backends(selection.backends),
              backend_words());
  line.option("--autograd", "LIST",
              "forward, forward_backward; only when named: forward_backward_eval (with the module "
              "in evaluation mode)",
              add_choices(selection.autograds, autograds), names_of(autograds));
  line.option("--threads", "LIST", threads_help, add_numbers(selection.threads, 1, kMaxThreads));
  line.option("--device", "LIST", "cpu, cuda", add_items(selection.devices), known_devices());
}

Expected<Shard> shard_from(const Given& given) {
  const std::size_t slash = given.value.find('/');
  if (slash != std::string::npos) {
    auto index = number_from({given.option, given.value.substr(0, slash)}, 1);
    auto count = number_from({given.option, given.value.substr(slash + 1)}, 1);
    if (index && count && *index <= *count) return Shard{*index, *count};
  }
  return fail("`" + given.value + "` is not a shard",
              "write its number, from 1, and how many there are: --shard=1/4");
}

// "n=100,1000".
Take take_parameter(std::map<std::string, std::vector<std::string>>& parameters) {
  return [&parameters](const Given& given) -> Expected<void> {
    const std::size_t equals = given.value.find('=');
    std::vector<std::string> values;
    if (equals != std::string::npos && equals > 0) {
      TRY(add_items(values)({given.option, given.value.substr(equals + 1)}));
    }
    if (values.empty()) {
      return fail("`" + given.value + "` is not a parameter with its values",
                  "write its name and values: --param=n=100,1000");
    }
    parameters[given.value.substr(0, equals)] = std::move(values);
    return {};
  };
}

}  // namespace

void declare_filters(CommandLine& line, Selection& selection) {
  line.option("--filter", "PATTERN",
              "benchmarks whose key, or name as shown in tables, contains it: a regular "
              "expression, a glob or text; repeatable",
              add_text(selection.filters));
  line.option("--exclude", "PATTERN", "but not these; repeatable", add_text(selection.excludes));
  line.option("--tag", "LIST", "benchmarks with one of these tags", add_items(selection.tags));
}

void declare_selection(CommandLine& line, Selection& selection) {
  line.group("Selection");
  declare_filters(line, selection);
  declare_axes(line, selection, "those measured with these numbers of threads");
}

void declare_definitions(CommandLine& line, PlanConfig& config) {
  line.option("--definitions", "PATH",
              "a TOML file or a folder of them, or - for standard input; repeatable (default: the "
              "standard set)",
              add_path(config.definitions));
  line.option("--suite", "LIST",
              "definitions of whole models that come with the product, such as timm",
              each_item([&config](const Given& given) {
                return find_suite(given.value).map([&config](fs::path&& file) {
                  config.definitions.push_back(std::move(file));
                });
              }),
              list_suites());
  line.option("--torchbench", "DIR",
              "the models of this checkout of TorchBench (github.com/pytorch/benchmark)",
              [&config](const Given& given) -> Expected<void> {
                config.torchbench = given.value;
                return check_torchbench(*config.torchbench);
              });
  line.option("--tests", "FILE",
              "instead of definitions, the tests of this list, which `pytest --instr` writes",
              take_path(config.tests));
  line.option("--param", "NAME=LIST",
              "other values of a parameter of the matrix, such as n=100,1000; repeatable",
              take_parameter(config.axes.parameters));
}

void declare_plan(CommandLine& line, PlanConfig& config) {
  line.group("What to measure");
  declare_filters(line, config.selection);
  declare_definitions(line, config);
  declare_axes(line, config.selection,
               "measure with these numbers of threads, such as 1,2, whatever the definitions say");
  line.option("--setting", "LIST",
              "Python in these [[setting]]s of the definitions; `default`: in none",
              add_items(config.axes.settings));
  line.check([&config]() -> Expected<void> {
    config.axes.threads = config.selection.threads;
    return {};
  });
}

void declare_shard(CommandLine& line, Selection& selection) {
  line.option("--shard", "I/N", "the I-th of N parts of them; see merge",
              [&selection](const Given& given) {
                return shard_from(given).map([&](const Shard& part) { selection.shard = part; });
              });
}

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
  line.option("--dump-repetitions", "N",
              "profile so many iterations, each into a folder of its own, 1, 2, … (1)",
              take_number(config.dump_repetitions, 1, kMaxDumpRepetitions));
  line.needs(
      {"dump-dir", "dump-repetitions"}, [&config] { return !config.dump.empty(); }, "--dump");
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
  line.flag("--host-only",
            "count the host side of CUDA, on any machine: launches, copies, synchronizations and "
            "the instructions of the way to them",
            tools.host_only);
  line.option("--stand-in", "NAME", "with --host-only: the made-up device (sm_90)",
              take_choice(tools.stand_in,
                          Choices<std::string>{
                              {"sm_80", "sm_80"}, {"sm_90", "sm_90"}, {"sm_100", "sm_100"}}));
  line.needs(
      {"stand-in"}, [&tools] { return tools.host_only; }, "--host-only");
  declare_jobs(line, tools);
}

void declare_build(CommandLine& line, std::optional<fs::path>& build) {
  line.option("--build", "FILE", "a TOML file whose [build] replaces the definitions' own",
              take_path(build));
}

void declare_timeout(CommandLine& line, MeasureConfig& config) {
  line.option("--timeout", "SECONDS",
              "stop a benchmark that has used this much CPU time, or was idle for as long (60)",
              take_seconds(config.timeout));
}

void declare_counting(CommandLine& line, MeasureConfig& config) {
  declare_timeout(line, config);
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
  line.check([&plan, &config]() -> Expected<void> {
    config.tools.needs_torch = !plan.tests || config.tools.libtorch;
    return {};
  });
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

namespace {

// "instructions=0.5%|+100". The last limit of a metric applies.
Take take_limits(std::map<std::string, Limit>& limits) {
  return [&limits](const Given& given) -> Expected<void> {
    TRY_ASSIGN(const auto parsed, parse_limits(given.value));
    for (const auto& [metric, limit] : parsed) limits[metric] = limit;
    return {};
  };
}

void declare_limits(CommandLine& line, GateOptions& gate) {
  line.option(
      "--limit", "LIMITS",
      "by how much a metric may grow before the check fails, such as instructions=0.5%|+200 or "
      "allocs=+0; repeatable (default: instructions=0.5%, allocs=+0, alloc_bytes=0.5%, "
      "peak_bytes=0.5%)",
      take_limits(gate.compare.limits.hard));
  line.option(
      "--soft-limit", "LIMITS",
      "by how much before it warns (default: instructions=0.1%, alloc_bytes=+0, peak_bytes=+0)",
      take_limits(gate.compare.limits.soft));
  line.option("--limits", "FILE", "limits by patterns of keys (TOML)", take_path(gate.limits_file));
  line.option("--base-limits", "FILE",
              "that file as of the base: it applies to each key that the base has",
              take_path(gate.base_limits_file));
  line.needs(
      {"base-limits"}, [&gate] { return gate.limits_file.has_value(); }, "--limits");
}

// A condition that a comparison tolerates on request, and fails on by default.
struct Permission {
  const char* name;
  const char* help;
  bool CompareOptions::*allows;
};
constexpr Permission kPermissions[] = {
    {"allow-missing", "benchmarks may be missing", &CompareOptions::allow_missing},
    {"allow-failed", "benchmarks may fail", &CompareOptions::allow_failed},
    {"allow-not-comparable", "a metric may be missing, a count need not be steady",
     &CompareOptions::allow_not_comparable},
    {"allow-nothing", "there may be nothing to compare", &CompareOptions::allow_nothing}};

const Choices<ColorMode> kColors{
    {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};

std::vector<ReportFormat> formats_that(bool (*has_it)(const FormatFacts& known)) {
  std::vector<ReportFormat> formats;
  for (const FormatFacts& known : kReportFormats) {
    if (has_it(known)) formats.push_back(known.format);
  }
  return formats;
}

}  // namespace

void declare_incomplete(CommandLine& line, Incomplete& incomplete, const std::string& help) {
  line.flag("--allow-incomplete", help, [&incomplete](bool is_given) {
    incomplete = is_given ? Incomplete::kAllowed : Incomplete::kRefused;
  });
}

void declare_vary(CommandLine& line, std::vector<std::string>& vary) {
  line.option("--vary", "LIST",
              "what may differ between the two sides: libtorch, compiler, valgrind, cpu, worker, "
              "libraries, or a field of the fingerprint",
              add_items(vary));
}

void declare_accepted(CommandLine& line, std::optional<fs::path>& accepted) {
  line.option("--accepted", "FILE",
              "the changes that were accepted (default: .instr_bench/accepted.csv of the project)",
              take_path(accepted));
}

void declare_gate(CommandLine& line, GateOptions& gate, bool& show_same) {
  declare_limits(line, gate);
  declare_accepted(line, gate.accepted);
  declare_vary(line, gate.vary);
  line.flag("--show-same", "also rows without a difference", show_same);
  line.option(
      "--top", "N", "calls and functions that explain a change (5 and 10; JSON: all)",
      [&gate](const Given& given) -> Expected<void> {
        int max = 0;
        TRY(take_number(max, 1)(given));
        gate.compare.attribution = {static_cast<std::size_t>(max), static_cast<std::size_t>(max)};
        return {};
      });
  for (const Permission& permission : kPermissions) {
    line.flag(std::string("--") + permission.name, permission.help,
              gate.compare.*permission.allows);
  }
  declare_incomplete(line, gate.incomplete, "results may be from a run that did not finish");
  line.flag("--ratchet", "gains beyond a limit fail, too, until they are accepted",
            gate.compare.has_ratchet);
  line.flag("--forbid-new", "benchmarks that have no baseline fail",
            [&gate](bool is_given) { gate.compare.allow_new = !is_given; });
}

const std::vector<std::string>& gate_options() {
  static const std::vector<std::string> names = [] {
    GateOptions unused;
    bool show_same = false;
    CommandLine line("");
    declare_gate(line, unused, show_same);
    std::vector<std::string> declared;
    for (const OptionInfo& option : line.options()) declared.push_back(option.name);
    return declared;
  }();
  return names;
}

std::vector<std::string> limited_metrics(const GateOptions& gate) {
  std::vector<std::string> metrics;
  for (const auto* limits : {&gate.compare.limits.hard, &gate.compare.limits.soft}) {
    for (const auto& [metric, limit] : *limits) metrics.push_back(metric);
  }
  return metrics;
}

void declare_showing(CommandLine& line, Showing& showing) {
  line.flag("-q,--quiet", "no progress", [&showing](bool is_given) {
    if (is_given) showing.verbosity = Verbosity::kQuiet;
  });
  line.flag("-v,--verbose", "a line for each finished measurement", [&showing](bool is_given) {
    if (is_given) showing.verbosity = Verbosity::kVerbose;
  });
  line.option("--color", "WHEN", list_of(names_of(kColors)), take_choice(showing.color, kColors),
              names_of(kColors));
  line.flag("-h,--help", "print this", [](bool) {});
  line.check([&line]() -> Expected<void> {
    if (!line.has("quiet") || !line.has("verbose")) return {};
    return fail("--quiet and --verbose cannot go together", "omit one of them");
  });
}

void declare_show_keys(CommandLine& line, Showing& showing) {
  line.flag("--show-keys", "rows are full keys, one measurement per line", showing.show_keys);
}

void declare_format(CommandLine& line, ReportFormat& format) {
  declare_format(line, format, formats_that([](const FormatFacts&) { return true; }));
}

void declare_format(CommandLine& line, ReportFormat& format,
                    const std::vector<ReportFormat>& possible) {
  Choices<ReportFormat> formats;
  std::vector<std::string> help;
  for (const ReportFormat shown : possible) {
    const FormatFacts& facts = facts_of(shown);
    formats.emplace_back(facts.name, shown);
    help.push_back(fmt::format("{} ({})", facts.name, facts.purpose));
  }
  line.option("--format", "FORMAT", list_of(help), take_choice(format, formats), names_of(formats));
}

void declare_format(CommandLine& line, std::optional<ReportFormat>& format, const char* usual,
                    const char* help) {
  Choices<std::optional<ReportFormat>> formats{{usual, std::nullopt}};
  for (const ReportFormat shown : document_formats())
    formats.emplace_back(facts_of(shown).name, shown);
  line.option("--format", "FORMAT", fmt::format("{}: {}", list_of(names_of(formats)), help),
              take_choice(format, formats), names_of(formats));
}

std::vector<ReportFormat> comparison_formats() {
  return formats_that(
      [](const FormatFacts& known) { return compare_report(known.format, {}).has_value(); });
}

void declare_summary(CommandLine& line, SummaryOptions& options) {
  FlagLimits& flags = options.flags;
  line.option("--flag-speedup", "RATIO",
              fmt::format("list experiments below this speed-up over eager ({})", flags.speedup),
              take_ratio(flags.speedup));
  line.option("--flag-compile", "SECONDS",
              fmt::format("list experiments that compiled for longer ({})", flags.compile_time),
              take_seconds(flags.compile_time));
  line.option("--flag-memory", "RATIO",
              fmt::format("list experiments of which eager's peak memory is a smaller multiple of "
                          "their own ({})",
                          flags.memory_ratio),
              take_ratio(flags.memory_ratio));
  line.flag("--arithmetic-mean", "also the arithmetic mean of speed-ups, beside the geometric one",
            options.has_arithmetic_mean);
}

void declare_lines(CommandLine& line, bool& wants_lines, const ReportFormat& format) {
  line.flag("--lines",
            "also show which lines of source cost more or less, where there are line numbers",
            wants_lines);
  line.needs(
      {"lines"},
      [&format] {
        return format == ReportFormat::kTable || format == ReportFormat::kJson ||
               format == ReportFormat::kJsonl;
      },
      "--format=table, json or jsonl");
}

void declare_flames(CommandLine& line, std::optional<fs::path>& folder, const char* source) {
  line.option(
      "--flame", "DIR",
      fmt::format("also write there a page for each benchmark whose instructions changed: a "
                  "flame graph of what each path of calls costs more or less, exactly, {}",
                  source),
      take_path(folder));
}

ProgressOptions progress_options(const Showing& showing) {
  return {STDERR_FILENO, inspect_terminal(STDERR_FILENO, showing.color), showing.verbosity};
}

RenderOptions render_options(const Showing& showing) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO, showing.color);
  return {static_cast<std::size_t>(std::max(terminal.width, 0)), terminal.color};
}

ReportOptions report_options(const Showing& showing, const std::vector<std::string>& metrics) {
  ReportOptions report{.render = render_options(showing), .show_keys = showing.show_keys};
  if (!metrics.empty()) report.metrics = metrics;
  return report;
}

Expected<void> prepare_comparison(ReportFormat format, CompareOptions& compare) {
  TRY(compare_report(format, {}));
  if (facts_of(format).has_all_attributions) {
    compare.max_attributions = 1000;
    compare.attribution = AttributionOptions::all();
  }
  return {};
}

}  // namespace instr
