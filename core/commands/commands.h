// The sub-commands beside the pipeline of main.cpp: one file each.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/base/exit_status.h"
#include "core/run/gate.h"
#include "core/run/options.h"

namespace instr {

// Prints the keys of the wanted variants.
ExitStatus list_command(const Options& options);

// Prints what a run would do with each wanted variant.
ExitStatus dry_run_command(const Options& options);

// Looks at everything that measuring needs, and counts the canary.
ExitStatus doctor_command(const Options& options, std::stop_token stop);

// Measures again what a saved file changes, until it is stopped.
ExitStatus watch_command(const Options& options, std::stop_token stop);

// `compare BASE NEW`: two results files or baselines.
ExitStatus compare_command(const Options& options);

// `baseline list`, `baseline show NAME|FILE`, `baseline remove NAME...`.
ExitStatus baseline_command(const Options& options);

// `explain KEY [NAME|FILE]`: where a single count goes; measures it unless results are named.
ExitStatus explain_command(const Options& options, const std::vector<std::string>& command,
                           std::stop_token stop);

// `ab`: two values of one setting, measured side by side and compared.
ExitStatus ab_command(const Options& options, const std::vector<std::string>& command,
                      std::stop_token stop);

// `merge FILE... --output=FILE`: the shards of a run made one results file.
ExitStatus merge_command(const Options& options);

// `bisect`: one step of git bisect run; its status is git's: 0 good, 1 bad, 125 cannot be tested,
// above 127 the bisection ends.
int bisect_command(const Options& options, const std::vector<std::string>& command,
                   std::stop_token stop);

// `selftest`: plants slow-downs and looks for false alarms.
ExitStatus selftest_command(const Options& options, std::stop_token stop);

// `experiment [FILE]`: the product of the file's axes over the definitions.
ExitStatus experiment_command(const Options& options, std::stop_token stop);

// `plot NAME|FILE`: a picture of results, as SVG.
ExitStatus plot_command(const Options& options, std::stop_token stop);

// Prints a comparison as --format says, and on standard error the differences of what the two were
// measured with.
ExitStatus show_comparison(const Options& options, const Comparison& comparison,
                           const std::vector<FieldDifference>& differences);

}  // namespace instr
