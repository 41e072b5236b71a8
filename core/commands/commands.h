// The functions in the table of commands, each in a file of its own, and their shared parts.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/base/program_end.h"
#include "core/commands/cli/command.h"
#include "core/commands/cli/command_line.h"
#include "core/commands/cli/options.h"
#include "core/report/explain.h"
#include "core/run/config.h"
#include "core/run/gate.h"

namespace instr {

Action run_command(CommandLine& line);
Action exec_command(CommandLine& line);
Action import_command(CommandLine& line);
Action list_command(CommandLine& line);
Action watch_command(CommandLine& line);
Action serve_command(CommandLine& line);
Action explain_command(CommandLine& line);
Action compare_command(CommandLine& line);
Action ab_command(CommandLine& line);
Action baseline_command(CommandLine& line);
Action merge_command(CommandLine& line);
Action merge_check_command(CommandLine& line);
Action history_command(CommandLine& line);
Action nightly_command(CommandLine& line);
Action accept_command(CommandLine& line);
Action bisect_command(CommandLine& line);
Action experiment_command(CommandLine& line);
Action selftest_command(CommandLine& line);
Action plot_command(CommandLine& line);
Action report_command(CommandLine& line);
Action doctor_command(CommandLine& line);
Action warm_command(CommandLine& line);
Action generate_command(CommandLine& line);
Action help_command(CommandLine& line);

// Explains a count by its kept profile, which alone has calls.
Expected<Explanation> explain_profile(const std::string& key, const Counted& counted,
                                      ProfilePaths paths);

// The help of --history.
inline constexpr const char* kHistoryHelp =
    "the history (default: .instr_bench/history.db of the project)";

// How a comparison is shown.
struct ComparisonShowing {
  Showing showing = {};
  ReportFormat format = ReportFormat::kTable;
  bool show_same = false;
};

// Prints a comparison and, on standard error, the differences between the two fingerprints.
ExpectedStatus show_comparison(const ComparisonShowing& how, const Comparison& comparison,
                               const std::vector<FieldDifference>& differences);

// Prints the command that accepts what is beyond its limit, if there is such a change, for results
// that are kept under these names.
void suggest_acceptance(const Comparison& comparison, const std::string& base,
                        const std::string& results, const GateOptions& gate);

// Prints the step that a run would begin with for each of the selected variants. `find_measured`
// returns the keys of those whose results are there already; empty: there are none.
using FindMeasured = std::function<Expected<std::set<std::string>>(const std::vector<Variant>&)>;
ExpectedStatus show_dry_run(const PlanConfig& plan, const MeasureConfig& measure,
                            const Showing& showing, const FindMeasured& find_measured = {});

}  // namespace instr
