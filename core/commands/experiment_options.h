// The options of experiments, which the command line and a TOML file can set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/source_text.h"
#include "core/run/config.h"

namespace instr {

// An axis (core/definitions/axes.h) as an option of the command line and as a key of the file.
struct AxisOption {
  const char* axis;             // "batch_size"
  const char* alias = nullptr;  // the name in XLA's experiment runner; null: the same
  std::string help;
  std::vector<std::string> choices = {};
  int max_number = 0;  // the values are numbers up to this; 0: names
  std::function<bool(PlanConfig&)> has_values = {};
  // Adds a value to the axis; after a "-", leaves the value out. Errors have no place.
  std::function<Expected<void>(const std::string& item, PlanConfig& plan)> take = {};
};

std::vector<AxisOption> axis_options();

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
