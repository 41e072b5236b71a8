// Options for the output, and a comparison's output.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/commands/cli/command_line.h"
#include "core/compare/compare.h"
#include "core/report/report.h"
#include "core/run/progress.h"

namespace instr {

struct Showing {
  Verbosity verbosity = Verbosity::kNormal;
  ColorMode color = ColorMode::kAuto;
  bool show_keys = false;  // in tables, instead of names
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

// --lines of a comparison.
void declare_lines(CommandLine& line, bool& wants_lines, const ReportFormat& format);

// --flame of comparisons. `source`: of the call paths, for the help.
void declare_flames(CommandLine& line, std::optional<std::filesystem::path>& folder,
                    const char* source);

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
