#include "core/commands/commands.h"

#include <algorithm>
#include <array>

namespace instr {

namespace {

using enum OnInterrupt;

constexpr auto kCommands = std::to_array<Command>(
    {{"run", "", "measure and report (the default command)", kFinish, kBadSetup, run_command},
     {"exec", "-- PROGRAM...", "count a whole program, or its Google Benchmark benchmarks", kFinish,
      kBadSetup, exec_command},
     {"import", "MODULE", "count an import of Python, by module", kFinish, kBadSetup,
      import_command},
     {"list", "", "print the keys of the benchmarks, one per line", kEnd, kBadSetup, list_command},
     {"watch", "", "stay ready; measure again whatever a saved file changes", kFinish, kBadSetup,
      watch_command},
     {"serve", "", "stay ready; count what a program asks for, as instr_bench.Timer does", kFinish,
      kBadSetup, serve_command},
     {"explain", "KEY [RESULTS]", "what a count consists of, function by function", kFinish,
      kBadSetup, explain_command},
     {"compare", "BASE NEW", "what changed between two results, in which function", kEnd, kBadSetup,
      compare_command},
     {"ab", "",
      "measure two LibTorch builds, builds of your library or compilers, and compare them", kFinish,
      kBadSetup, ab_command},
     {"baseline", "...", "list, show or remove the baselines that --save made", kEnd, kBadSetup,
      baseline_command},
     {"merge", "FILE...", "merge the results of shards into one file", kEnd, kBadSetup,
      merge_command},
     {"merge-check", "BASE [options of run]", "whether this commit got slower since a branch",
      kFinish, kBadSetup, merge_check_command},
     {"history", "WORD...", "record what commits cost, and show at which they changed", kFinish,
      kBadSetup, history_command},
     {"nightly", "BRANCH [options of run]",
      "measure a branch, and write an issue about what costs more", kFinish, kBadSetup,
      nightly_command},
     {"accept", "KEY...", "let what a benchmark costs more now pass the check, with the reason",
      kEnd, kBadSetup, accept_command},
     // A status below 128 would be a verdict on the commit.
     {"bisect", "", "for git bisect run: the commit that made it slower", kFinish,
      kInterrupted + kBadSetup, bisect_command},
     {"experiment", "[FILE]", "backends, tests, data types ... over the definitions", kFinish,
      kBadSetup, experiment_command},
     {"selftest", "", "plant slow-downs and show that the check finds them", kFinish, kBadSetup,
      selftest_command},
     {"plot", "NAME|FILE", "a picture of results", kFinish, kBadSetup, plot_command},
     {"report", "[FILE...]", "a page for a browser: what needs attention, steps, trends", kEnd,
      kBadSetup, report_command},
     {"doctor", "", "report what is installed, what is missing, how to fix it", kFinish, kBadSetup,
      doctor_command},
     {"warm", "...", "list or stop the workers that --warm keeps between runs", kEnd, kBadSetup,
      warm_command},
     {"generate", "WHAT", "completions for a shell, or a man page", kEnd, kBadSetup,
      generate_command},
     {"help", "[COMMAND]", "the help of a command", kEnd, kBadSetup, help_command}});

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const auto* position =
      std::find_if(kCommands.begin(), kCommands.end(),
                   [name](const Command& command) { return command.name == name; });
  return position == kCommands.end() ? nullptr : position;
}

}  // namespace instr
