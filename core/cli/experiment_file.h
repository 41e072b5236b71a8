// What `instr_bench experiment` measures, and the TOML file that says so in place of options.
#pragma once

#include <optional>

#include "core/base/source_text.h"
#include "core/engine/config.h"

namespace instr {

struct ExperimentOptions {
  PlanConfig plan = {};
  std::optional<int> repeat = {};  // runs that are timed
  std::optional<int> iterations_per_run = {};
  std::optional<double> timeout = {};  // seconds
};

// Takes from the file what the command line left open. Every error at its place.
tl::expected<void, Errors> apply_experiment_file(const SourceText& source,
                                                 ExperimentOptions& options);

}  // namespace instr
