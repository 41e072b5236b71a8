#include <filesystem>
#include <memory>
#include <utility>

#include "core/commands/run.h"

namespace instr {

namespace {

struct ExecOptions {
  RunOptions run = {};
  std::vector<std::string> command = {};
  std::optional<std::string> label = {};
  std::vector<std::string> environment = {};  // NAME=VALUE
  std::optional<fs::path> standard_input = {};
  int exit_status = 0;
  bool has_children = false;
  bool is_google_benchmark = false;
};

Expected<void> take_environment(const ExecOptions& options, Program& program) {
  for (const std::string& variable : options.environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail("--env: `" + variable + "` is not NAME=VALUE", "write for example --env=A=1");
    }
    program.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return {};
}

// Makes the definition that a [[benchmark]] with the same `command` would be.
Expected<void> define(ExecOptions& options) {
  if (options.command.empty()) {
    return fail("exec names no program", "write it after --: instr_bench exec -- build/server");
  }
  Program program{.command = options.command,
                  .folder = fs::current_path(),
                  .exit_status = options.exit_status,
                  .has_children = options.has_children};
  if (options.is_google_benchmark) program.kind = ProgramKind::kGoogleBenchmark;
  if (options.standard_input) program.standard_input = fs::absolute(*options.standard_input);
  TRY(take_environment(options, program));
  set_program(options.run,
              options.label.value_or(fs::path(options.command.front()).filename().string()),
              std::move(program));
  return {};
}

}  // namespace

Action exec_command(CommandLine& line) {
  auto options = std::make_shared<ExecOptions>();
  line.usage("instr_bench exec [options] -- PROGRAM [ARGUMENT...]");
  line.describe(
      "Counts the instructions of a whole program, from start to end, as `command = [...]` in a "
      "definition does. It runs twice, here, with a pinned environment; its output is shown only "
      "if it fails.");
  line.rest("PROGRAM [ARGUMENT...]", options->command);
  line.group("What to run");
  line.option("--label", "NAME", "its name in results (default: the program's file name)",
              take_text(options->label));
  line.flag("--google-benchmark",
            "the program is one of Google Benchmark: count each of its benchmarks, per iteration",
            options->is_google_benchmark);
  line.option("--env", "NAME=VALUE", "a variable of its environment, besides the pinned ones",
              add_text(options->environment));
  line.option("--stdin", "FILE", "its standard input (default: empty)",
              take_path(options->standard_input));
  line.option("--exit-status", "N", "the expected exit status (0); any other is a failure",
              take_number(options->exit_status, 0, 255));
  line.flag("--children", "also count the processes that it starts", options->has_children);
  declare_run_of_programs(line, options->run);
  line.check([options = options.get()] { return define(*options); });
  return [options](const Invocation& invocation) {
    return measure_and_report(options->run, invocation);
  };
}

}  // namespace instr
