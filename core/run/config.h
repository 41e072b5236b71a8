// The configuration of a run: which variants, and how they are measured
// (core/measure/measure_config.h). Independent of the command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/axes.h"
#include "core/definitions/grouped_benchmark.h"
#include "core/definitions/select.h"
#include "core/measure/measure_config.h"

namespace instr {

inline constexpr int kMaxJobs = 4096;  // each is a thread
inline constexpr int kMaxRepetitions = 1'000'000;
inline constexpr int kMaxBatch = 1'000'000;

// The selected variants of some definitions.
struct PlanConfig {
  std::vector<std::filesystem::path> definitions = {};   // empty: see definition_paths()
  std::vector<GroupedBenchmark> given = {};              // instead of those of files
  std::optional<std::filesystem::path> torchbench = {};  // a checkout, whose models are added
  std::optional<std::filesystem::path> tests = {};       // instead of definitions: a list of tests
  Selection selection = {};
  ExperimentAxes axes = {};
  // A file whose [build] replaces the definitions' own.
  std::optional<std::filesystem::path> build = {};
  bool is_reversed = false;  // the last variant first: counts must not depend on the order
};

// Sets what is to be counted, simulated and timed for these metrics (none: the usual ones) and the
// limited ones.
void set_needs(PlanConfig& plan, MeasureConfig& config, const std::vector<std::string>& metrics,
               const std::vector<std::string>& limited = {});

}  // namespace instr
