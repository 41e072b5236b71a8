// Groups of options that commands share: for selecting, measuring, comparing and showing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/commands/cli/command_line.h"
#include "core/compare/compare.h"
#include "core/report/backend_summary.h"
#include "core/report/run_report.h"
#include "core/run/config.h"
#include "core/run/gate.h"
#include "core/run/progress.h"

namespace instr {

// --filter, --exclude, --tag.
void declare_filters(CommandLine& line, Selection& selection);

// Options that select measurements: filters, languages, backends, ...
void declare_selection(CommandLine& line, Selection& selection);

// --definitions, --suite.
void declare_definitions(CommandLine& line, PlanConfig& config);

// Options that select the variants of a run: all of these. --threads replaces the definitions'
// numbers of threads.
void declare_plan(CommandLine& line, PlanConfig& config);

void declare_shard(CommandLine& line, Selection& selection);

// --jobs, --no-cache.
void declare_jobs(CommandLine& line, ToolConfig& tools);
// --libtorch, --compiler, --python, --jobs, --no-cache.
void declare_tools(CommandLine& line, ToolConfig& tools);
void declare_build(CommandLine& line, std::optional<fs::path>& build);

void declare_timeout(CommandLine& line, MeasureConfig& config);
// --timeout, --warm.
void declare_counting(CommandLine& line, MeasureConfig& config);

// Tools, --build and counting.
void declare_measuring(CommandLine& line, PlanConfig& plan, MeasureConfig& config);

// --functions.
void declare_functions(CommandLine& line, MeasureConfig& config);

// Refuses call paths from warm workers, and call paths and lines of Python's functions.
Expected<void> check_functions(const MeasureConfig& config);

// --repetitions, --min-time.
void declare_timing(CommandLine& line, MeasureConfig& config);

// --dump, --dump-dir with this default.
void declare_dump(CommandLine& line, MeasureConfig& config, const char* folder);

// --metrics: names of metrics and of their groups.
void declare_metrics(CommandLine& line, std::vector<std::string>& metrics);

void declare_incomplete(CommandLine& line, Incomplete& incomplete, const std::string& help);
void declare_vary(CommandLine& line, std::vector<std::string>& vary);
void declare_accepted(CommandLine& line, std::optional<fs::path>& accepted);

// Declares all options of a comparison but --baseline and --expect. Their names.
void declare_gate(CommandLine& line, GateOptions& gate, bool& show_same);
const std::vector<std::string>& gate_options();

// The metrics that have a limit.
std::vector<std::string> limited_metrics(const GateOptions& gate);

struct Showing {
  Verbosity verbosity = Verbosity::kNormal;
  ColorMode color = ColorMode::kAuto;
  bool show_keys = false;  // tables show keys instead of names
};

// --quiet, --verbose, --color, --help: of every command.
void declare_showing(CommandLine& line, Showing& showing);

void declare_show_keys(CommandLine& line, Showing& showing);

// --format with all formats, or with these.
void declare_format(CommandLine& line, ReportFormat& format);
void declare_format(CommandLine& line, ReportFormat& format,
                    const std::vector<ReportFormat>& possible);
// --format with the formats of documents, and one that is called `usual` if absent.
void declare_format(CommandLine& line, std::optional<ReportFormat>& format, const char* usual,
                    const char* help);

// --flag-speedup, --flag-compile, --flag-memory, --arithmetic-mean: of summaries of experiments.
void declare_summary(CommandLine& line, SummaryOptions& options);

// --lines of a comparison.
void declare_lines(CommandLine& line, bool& wants_lines, const ReportFormat& format);

// --flame of comparisons. `source`: of the call paths, for the help.
void declare_flames(CommandLine& line, std::optional<fs::path>& folder, const char* source);

// The formats that show a comparison.
std::vector<ReportFormat> comparison_formats();

ProgressOptions progress_options(const Showing& showing);

// The width and the colours of standard output.
RenderOptions render_options(const Showing& showing);

// A report on standard output. Without metrics it has the usual ones.
ReportOptions report_options(const Showing& showing, const std::vector<std::string>& metrics = {});

// Checks that a comparison can be shown in that format, and sets the attributions that it needs.
Expected<void> prepare_comparison(ReportFormat format, CompareOptions& compare);

}  // namespace instr
