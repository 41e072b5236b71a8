// Options that select benchmarks: of definitions, or of results.
#pragma once

#include "core/cli/command_line.h"
#include "core/engine/config.h"

namespace instr {

// --filter, --exclude, --tag.
void declare_filters(CommandLine& line, Selection& selection);

// Of results: filters and what their rows were measured with.
void declare_selection(CommandLine& line, Selection& selection);

// --definitions.
void declare_definitions(CommandLine& line, PlanConfig& config);

// Of what is to be measured: the selection and --definitions. --threads measures with these
// numbers, whatever the definitions say.
void declare_plan(CommandLine& line, PlanConfig& config);

// --shard.
void declare_shard(CommandLine& line, std::optional<Shard>& shard);

}  // namespace instr
