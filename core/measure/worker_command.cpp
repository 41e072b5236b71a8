#include "core/measure/worker_command.h"

#include "worker/wire.h"

namespace instr {

std::vector<std::string> worker_command(const WorkerOptions& options) {
  const std::vector<std::string>& program = options.program.command;
  if (options.is_native()) return program;
  const std::string profiles = (options.work_dir / wire::kProfilePrefix).string();
  std::vector<std::string> command{
      options.valgrind.string(),
      "--tool=callgrind",
      "--command-line-only=yes",  // no ~/.valgrindrc, no VALGRIND_OPTS
      "--quiet",
      "--vgdb=no",
      "--instr-atstart=no",
      "--collect-atstart=no",
      "--collect-systime=yes",  // a statement that makes system calls may depend on a clock
      "--callgrind-out-file=" + profiles + "%p",
      // A log per process: a worker's children read their counts there.
      "--log-file=" + profiles + "%p.log",
  };
  for (auto& option : valgrind_options(options.simulation)) command.push_back(std::move(option));
  // Longer paths of calls, and deeper recursion, are counted as the longest and the deepest.
  if (options.call_paths) {
    command.insert(command.end(), {"--separate-callers=200", "--separate-recs=10"});
  }
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

}  // namespace instr
