#include "core/measure/warm.h"

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/commands.h"

namespace instr {

namespace {

std::string format_status(const WarmStatus& worker) {
  const std::string what = worker.libtorch_version.empty()
                               ? "starting"
                               : fmt::format("LibTorch {}, {}", worker.libtorch_version,
                                             facts_of(worker.language).title);
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(kWarmIdleTime) - worker.idle;
  return fmt::format(
      "process {}  {}  {}\n", worker.pid, what,
      worker.is_used ? "in use" : "ends in " + format_duration(static_cast<double>(left.count())));
}

ExpectedStatus list() {
  const auto all = warm_status();
  for (const WarmStatus& worker : all) print_output(format_status(worker));
  if (all.empty()) print_message("no warm workers: instr_bench --warm starts one\n");
  return kGood;
}

struct WarmArguments {
  std::vector<std::string> operands;
  Showing showing;
};

ExpectedStatus run_warm(const std::vector<std::string>& operands) {
  const std::string& what = operands[0];
  if (what == "list" && operands.size() == 1) return list();
  if (what == "stop" && operands.size() == 1) {
    print_message(format_plural(stop_warm_workers(), "warm worker") + " stopped\n");
    return kGood;
  }
  if (what == "serve" && operands.size() == 2) {
    TRY(serve_warm(Fd(kWarmListeningFd), operands[1]));
    return kGood;
  }
  return fail("`warm` takes `list` or `stop`", "see instr_bench warm --help");
}

}  // namespace

Action warm_command(CommandLine& line) {
  auto options = std::make_shared<WarmArguments>();
  line.describe(
      "A run with --warm keeps LibTorch started under Valgrind, in a process of its own, so that "
      "the next run with --warm is ready at once and counts the same. It serves this user alone, "
      "ends after ten minutes without a run, and is not used once LibTorch, the worker or a "
      "library has changed. list shows those that are there, stop ends them.");
  line.operands({"list or stop", 1, 2}, options->operands);
  line.group("What to show");
  declare_showing(line, options->showing);
  return [options](const Invocation&) { return run_warm(options->operands); };
}

}  // namespace instr
