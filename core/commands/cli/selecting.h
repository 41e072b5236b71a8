// Options that select benchmarks: of definitions, or of results.
#pragma once

#include "core/commands/cli/command_line.h"
#include "core/run/config.h"

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

}  // namespace instr
