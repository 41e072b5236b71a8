#include <unistd.h>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/installation.h"
#include "core/compile/libtorch.h"
#include "core/compile/python/python.h"
#include "core/compile/toolchain.h"
#include "core/definitions/metrics.h"
#include "core/measure/timer.h"
#include "core/run/config.h"
#include "core/run/session.h"
#include "core/run/tools.h"

namespace instr {

namespace {

struct Finding {
  std::string name;  // "Valgrind"
  bool good = false;
  std::string detail;  // the version and place, or the problem and the solution
};

// Instructions of the canary in worker/counted/canary.S, counted by hand.
constexpr double kCanaryInstructions = 1000;

constexpr std::size_t kNameWidth = 20;

// A variant without code: the worker itself has the symbol.
CompiledVariant canary_variant() {
  CompiledVariant canary;
  canary.variant.key = canary.variant.label = "canary";
  canary.symbol = "instr_canary_snippet";
  return canary;
}

Finding judge_canary(const Measurement& measurement) {
  Finding finding{"canary", false, ""};
  if (const auto* counted = std::get_if<Counted>(&measurement.outcome)) {
    double ir = counted->metrics.at(kInstructions);
    finding.good = ir == kCanaryInstructions && counted->steady;
    finding.detail = format_count(ir) + " instructions counted, " +
                     format_count(kCanaryInstructions) + " expected";
    if (!finding.good) finding.detail += ": counts of this Valgrind and worker cannot be trusted";
  } else if (const auto* failure = std::get_if<Failure>(&measurement.outcome)) {
    finding.detail = std::string(to_string(failure->kind)) + ": " + failure->message;
  }
  return finding;
}

// A missing interpreter is not a failure: only snippets in Python need it.
Finding judge_python(const ToolConfig& tools, const LibTorch& libtorch) {
  auto python = find_python(tools.python, libtorch, find_installation().sources);
  if (python) {
    return {"Python", true, python->version + " with torch (" + python->command.string() + ")"};
  }
  const bool is_requested = tools.python.has_value();
  return {"Python", !is_requested,
          is_requested ? to_string(python.error())
                       : "none, so snippets in Python are skipped: " + python.error().what};
}

// Missing counters are not a failure.
Finding judge_counters() {
  const auto countable = check_events(names_of(metrics_of(MetricGroup::kHardware)));
  return {"hardware counters", true,
          countable ? "there are some: --metrics=hw" : "none: " + to_string(countable.error())};
}

// Runs the checks, and passes each finding to `on_finding` as soon as it is known. Checks that
// depend on a failed check are skipped. Returns whether all succeeded.
bool examine(const ToolConfig& tools, const std::function<void(const Finding&)>& on_finding,
             std::stop_token stop) {
  bool all_good = true;
  auto report = [&](const Finding& finding) {
    all_good = all_good && finding.good;
    on_finding(finding);
  };
  auto check = [&](const char* name, const auto& expected, auto&& describe) {
    if (expected) {
      report({name, true, describe(*expected)});
    } else {
      report({name, false, to_string(expected.error())});
    }
    return bool(expected);
  };

  check("Valgrind", find_valgrind(), [](const std::string& version) { return version; });
  auto libtorch = find_libtorch(tools.libtorch);
  check("LibTorch", libtorch, [](const LibTorch& build) {
    return build.version + " in " + build.root.string() + " (" + build.found_by + ")" +
           (build.has_cuda ? ", with CUDA" : "");
  });
  if (libtorch) {
    check("compiler", find_toolchain(tools.compiler, *libtorch), [](const Toolchain& toolchain) {
      return toolchain.version + " (" + toolchain.compiler.string() + ")" +
             (toolchain.is_clang ? "" : "; clang compiles units about five times faster");
    });
  }
  if (libtorch) report(judge_python(tools, *libtorch));
  report(judge_counters());
  check("cache", Cache::open(!tools.no_cache), [](const Cache& cache) {
    return cache.folder().string() + (cache.note() ? " (" + *cache.note() + ")" : "");
  });
  if (!all_good) return false;

  Finding canary{"canary", false, "was not measured"};
  SessionEvents events;
  events.on_done = [&](const Measurement& measurement) { canary = judge_canary(measurement); };
  MeasureConfig measure;
  measure.tools = tools;
  auto session = Session::open(measure, events, stop);
  auto worker = session.and_then([&](const auto& opened) { return opened->worker(stop); });
  if (!check("worker", worker, [](const auto&) { return std::string("built"); })) return false;
  auto fingerprint = (*session)->measure_builtin(canary_variant(), stop);
  if (!check("zygote", fingerprint, [](const Fingerprint& counted) {
        return "started; CPU capability inside Valgrind: " + counted.get("cpu_capability");
      })) {
    return false;
  }
  report(canary);
  return all_good;
}

// "  ok  Valgrind   valgrind-3.19.0", with a newline.
std::string finding_line(const Finding& finding, bool color) {
  std::string mark =
      finding.good ? styled("ok  ", Style::kGood, color) : styled("FAIL", Style::kBad, color);
  return "  " + mark + "  " + pad_right(finding.name, kNameWidth) + finding.detail + "\n";
}

struct DoctorArguments {
  ToolConfig tools;
  Showing showing;
};

ExitStatus run_doctor(const DoctorArguments& options, std::stop_token stop) {
  bool color = inspect_terminal(STDOUT_FILENO, options.showing.color).color;
  bool good = examine(
      options.tools, [&](const Finding& finding) { print_output(finding_line(finding, color)); },
      stop);
  if (stop.stop_requested()) return kInterrupted;
  return good ? kGood : kBadSetup;
}

}  // namespace

Action doctor_command(CommandLine& line) {
  auto options = std::make_shared<DoctorArguments>();
  line.describe(
      "Checks everything that measuring needs, reports what is missing and how to fix it, and "
      "counts a canary: code whose exact number of instructions is known.");
  line.group("What to check");
  declare_tools(line, options->tools);
  declare_showing(line, options->showing);
  return [options](const Invocation& invocation) { return run_doctor(*options, invocation.stop); };
}

}  // namespace instr
