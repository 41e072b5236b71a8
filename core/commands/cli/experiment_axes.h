// The axes of experiments (core/definitions/axes.h) as options of the command line and as keys of a
// file of experiments.
#pragma once

#include <optional>

#include "core/base/source_text.h"
#include "core/commands/cli/command_line.h"
#include "core/run/config.h"

namespace instr {

// --device, --backend, ...: lists of values, and of those that are left out, after a "-".
void declare_axes(CommandLine& line, PlanConfig& plan);

// The configuration of `instr_bench experiment`, which a TOML file may set instead of options.
struct ExperimentOptions {
  PlanConfig plan = {};
  std::optional<int> repetitions = {};  // timed runs
  std::optional<int> iterations_per_run = {};
  std::optional<double> timeout = {};  // CPU seconds
};

// Takes from the file the values that the command line does not set. Every error at its place.
tl::expected<void, Errors> apply_experiment_file(const SourceText& source,
                                                 ExperimentOptions& options);

}  // namespace instr
