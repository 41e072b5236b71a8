#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/commands.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/installation.h"
#include "core/compile/libtorch.h"
#include "core/compile/python/compile_python.h"
#include "core/compile/python/python.h"
#include "core/compile/toolchain.h"
#include "core/definitions/metrics.h"
#include "core/measure/measurer.h"
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
  } else {
    finding.detail = reason_of(measurement);
  }
  return finding;
}

// A missing interpreter is not a failure: only snippets in Python need it.
Finding judge_python(const Expected<Python>& python, bool is_requested) {
  if (python) {
    const auto caution = find_caution(*python);
    return {"Python", true,
            python->version + " with torch (" + python->command.string() + ")" +
                (caution ? ": " + *caution : "")};
  }
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

// Names the limits of a snippet's processes, which depend on the number of jobs.
Finding describe_memory(int jobs) {
  const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  return {"memory", true,
          fmt::format("{:.1f} GiB, of which each snippet may take {:.1f} GiB while {} {} counted",
                      gib(machine_memory()), gib(memory_limit_here(jobs)), jobs,
                      jobs == 1 ? "is" : "are")};
}

// No compiler is a failure only if nothing can be counted without one.
Finding judge_compiler(const Expected<Toolchain>& toolchain, bool has_python) {
  if (!toolchain) return {"compiler", false, to_string(toolchain.error())};
  if (const auto found = check_compiler(*toolchain); !found) {
    const bool is_enough = has_python && find_prebuilt_worker(find_installation().sources);
    return {"compiler", is_enough,
            is_enough ? fmt::format("none, so snippets in C++ are left out ({})", kInstallCompiler)
                      : to_string(found.error())};
  }
  return {"compiler", true,
          toolchain->version + " (" + toolchain->compiler.string() + ")" +
              (toolchain->is_clang ? "" : "; clang compiles units about five times faster")};
}

// The findings, in the order of the checks.
struct Examination {
  std::vector<Finding> findings;
  bool has_cpp = false;                // can be counted
  bool has_cuda = false;               // LibTorch is built with CUDA
  std::vector<std::string> languages;  // "C++": all that can
  std::string libtorch;                // "2.13.0"

  bool is_good() const { return std::ranges::all_of(findings, &Finding::good); }
  bool add(Finding finding) {
    findings.push_back(std::move(finding));
    return findings.back().good;
  }
  template <class T, class Describe>
  bool add(const char* name, const Expected<T>& found, Describe&& describe) {
    return found ? add({name, true, describe(*found)})
                 : add({name, false, to_string(found.error())});
  }
};

// Lists where LibTorch was looked for, and which place has the one that is taken.
std::string list_places(const ToolConfig& tools) {
  std::string text;
  bool is_taken = false;
  for (const LibTorchPlace& place : list_libtorch_places(tools.libtorch)) {
    const auto version = describe_libtorch_at(place);
    const std::string found = !version           ? version.error().what
                              : version->empty() ? "has no LibTorch"
                              : is_taken         ? *version + ", not needed"
                                                 : *version + ", taken";
    is_taken = is_taken || (version && !version->empty());
    text += fmt::format("\n{:{}}{} ({}): {}", "", kNameWidth + 8, place.name, place.folder.string(),
                        found);
  }
  return text;
}

void examine_tools(const ToolConfig& tools, Examination& all) {
  all.add("Valgrind", find_valgrind(tools.valgrind), [](const Valgrind& valgrind) {
    return valgrind.version + " (" + find_program(valgrind.program.string())->string() + ")";
  });
  const auto libtorch = find_libtorch(tools.libtorch);
  all.add("LibTorch", libtorch, [](const LibTorch& build) {
    return build.version + " in " + build.root.string() + " (" + build.found_by + ")" +
           (build.has_cuda ? ", with CUDA, whose host side --host-only counts" : ", without CUDA");
  });
  all.findings.back().detail += list_places(tools);
  if (libtorch) {
    all.libtorch = libtorch->version;
    all.has_cuda = libtorch->has_cuda;
    const auto toolchain = find_toolchain(tools.compiler, *libtorch);
    const auto python = find_python(tools.python, *libtorch, find_installation().sources);
    all.add(judge_compiler(toolchain, python.has_value()));
    all.has_cpp = toolchain && check_compiler(*toolchain);
    if (all.has_cpp) all.languages.emplace_back("C++");
    all.add(judge_python(python, tools.python.has_value()));
    if (python) all.languages.emplace_back("Python");
  }
  all.add(judge_counters());
  all.add(describe_memory(jobs_of(tools)));
  all.add("cache", Cache::open(!tools.no_cache), [](const Cache& cache) {
    return cache.folder().string() + (cache.caution() ? " (" + *cache.caution() + ")" : "");
  });
}

// Counts code whose number of instructions is known: it is part of the worker for C++.
void examine_counting(const ToolConfig& tools, std::stop_token stop, Examination& all) {
  Finding canary{"canary", false, "was not measured"};
  SessionEvents events;
  events.on_done = [&](const Measurement& measurement) { canary = judge_canary(measurement); };
  MeasureConfig measure;
  measure.tools = tools;
  const auto build = [&] {
    return Session::open(measure, events, stop).and_then([&](auto session) {
      return session->worker(stop).transform([&](const auto&) { return std::move(session); });
    });
  };
  auto session = build();
  std::string built = "built";
  if (!session && all.has_cuda && !measure.tools.host_only) {
    measure.tools.host_only = true;
    if (auto other = build()) {
      session = std::move(other);
      built += " with stand-ins for CUDA's libraries, which this LibTorch lacks: add --host-only";
    }
  }
  if (!all.add("worker", session, [&](const auto&) { return built; })) return;
  auto fingerprint = (*session)->measure_builtin(canary_variant(), stop);
  const bool is_started = all.add("zygote", fingerprint, [](const Fingerprint& counted) {
    return "started; CPU capability inside Valgrind: " + counted.get("cpu_capability");
  });
  if (is_started) all.add(std::move(canary));
}

// "ready: C++ and Python on LibTorch 2.14.1", or what to do first.
std::string format_verdict(const Examination& all, bool color) {
  for (const Finding& finding : all.findings) {
    if (finding.good) continue;
    return styled("not ready", Style::kBad, color) + ": " + finding.name + ": " +
           finding.detail.substr(0, finding.detail.find('\n')) + "\n\n";
  }
  return styled("ready", Style::kGood, color) + ": " +
         fmt::format("{} on LibTorch {}\n\n", fmt::join(all.languages, " and "), all.libtorch);
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
  const bool color = inspect_terminal(STDOUT_FILENO, options.showing.color).color;
  Examination all;
  examine_tools(options.tools, all);
  if (all.is_good() && all.has_cpp) {
    print_message("counting a canary, for which a worker is built on first use\n");
    examine_counting(options.tools, stop, all);
  }
  if (stop.stop_requested()) return kInterrupted;
  std::string text = format_verdict(all, color);
  for (const Finding& finding : all.findings) text += finding_line(finding, color);
  print_output(text);
  return all.is_good() ? kGood : kBadSetup;
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
