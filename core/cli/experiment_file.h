// The configuration of `instr_bench experiment`, and the TOML file that may set it instead of
// options.
#pragma once

#include <optional>

#include "core/base/source_text.h"
#include "core/engine/config.h"

namespace instr {

struct ExperimentOptions {
  PlanConfig plan = {};
  std::optional<int> repeat = {};  // timed runs
  std::optional<int> iterations_per_run = {};
  std::optional<double> timeout = {};  // CPU seconds
};

// Takes from the file the values that the command line does not set. Every error at its place.
tl::expected<void, Errors> apply_experiment_file(const SourceText& source,
                                                 ExperimentOptions& options);

}  // namespace instr
