// The axes of experiments (core/definitions/axes.h) as options of the command line and as keys of a
// file of experiments.
#pragma once

#include "core/cli/command_line.h"
#include "core/engine/config.h"

namespace instr {

class TableReader;

// --accelerator, --backend, ...: lists of values, and of those that are left out, after a "-".
void declare_axes(CommandLine& line, PlanConfig& plan);

// The same from a file, of the axes that `plan` has nothing of yet.
void read_axes(const TableReader& read, PlanConfig& plan);

}  // namespace instr
