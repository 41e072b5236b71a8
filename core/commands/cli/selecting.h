// Options that select benchmarks: of definitions, or of results.
#pragma once

#include "core/commands/cli/command_line.h"
#include "core/run/config.h"

namespace instr {

// --filter, --exclude, --tag.
void declare_filters(CommandLine& line, Selection& selection);

// For results: filters, and how their rows were measured.
void declare_selection(CommandLine& line, Selection& selection);

// --definitions, --suite.
void declare_definitions(CommandLine& line, PlanConfig& config);

// For a run: the selection and the definitions. --threads measures with these numbers, whatever the
// definitions say.
void declare_plan(CommandLine& line, PlanConfig& config);

// --shard.
void declare_shard(CommandLine& line, Selection& selection);

}  // namespace instr
