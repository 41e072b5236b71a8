// Options for measuring, and for the tools.
#pragma once

#include <string>
#include <vector>

#include "core/commands/cli/command_line.h"
#include "core/run/config.h"

namespace instr {

// --jobs, --no-cache.
void declare_jobs(CommandLine& line, ToolConfig& tools);
// --libtorch, --compiler, --python, --jobs, --no-cache.
void declare_tools(CommandLine& line, ToolConfig& tools);
void declare_build(CommandLine& line, std::optional<std::filesystem::path>& build);

// --timeout, --warm.
void declare_counting(CommandLine& line, MeasureConfig& config);

// Tools, --build and counting.
void declare_measuring(CommandLine& line, PlanConfig& plan, MeasureConfig& config);

// An error if --warm is combined with call paths, which need new workers.
Expected<void> check_call_paths(const MeasureConfig& config);

// --repetitions, --min-time.
void declare_timing(CommandLine& line, MeasureConfig& config);

// --dump, --dump-dir with this default.
void declare_dump(CommandLine& line, MeasureConfig& config, const char* folder);

// --metrics: names of metrics and of their groups.
void declare_metrics(CommandLine& line, std::vector<std::string>& metrics);

}  // namespace instr
