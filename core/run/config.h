// The configuration of a run: which variants, measured how, with which tools. Independent of the
// command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/axes.h"
#include "core/definitions/select.h"
#include "core/measure/dump.h"
#include "core/results/simulation.h"

namespace instr {

inline constexpr int kMaxJobs = 4096;  // each is a thread
inline constexpr int kMaxRepetitions = 1'000'000;
inline constexpr int kMaxBatch = 1'000'000;

enum class Isolation { kFork, kProcess };

// The selected variants of some definitions.
struct PlanConfig {
  std::vector<std::filesystem::path> definitions = {};  // empty: the standard set
  Selection selection = {};
  ExperimentAxes axes = {};
  // A file whose [build] replaces the definitions' own.
  std::optional<std::filesystem::path> build = {};
  bool is_reversed = false;  // the last variant first: counts must not depend on the order
};

// The tools found, and built, before anything is measured.
struct ToolConfig {
  std::optional<std::filesystem::path> libtorch = {};
  std::optional<std::string> compiler = {};
  std::optional<std::string> python = {};
  std::optional<std::string> valgrind = {};
  bool no_cache = false;  // recompile everything, keep nothing
  int jobs = 0;           // 0: one for each core
};

struct MeasureConfig {
  ToolConfig tools = {};
  bool wants_counts = true;
  bool wants_times = false;
  std::vector<std::string> events = {};  // counted while timing (kEventMetrics)
  bool wants_start = false;              // how long a fresh process takes to its first result
  bool wants_relative = false;           // times in units of eager's
  bool wants_functions = false;          // their self costs, for results that are kept or compared
  bool follows_calls = false;            // of an interpreter
  bool call_paths = false;   // a cost for each path of calls, in call trees and kept profiles
  bool wants_lines = false;  // the costs of source lines, too
  bool verify = false;       // compare results of the other backends with eager's
  Simulation simulation = {};
  // CPU seconds per variant; absent: the definition's, or the default.
  std::optional<double> timeout = {};
  int retries = 2;  // of variants whose worker was lost
  Isolation isolation = Isolation::kFork;
  bool is_warm = false;  // use workers that stay after a run
  int churn = 0;  // blocks that each zygote allocates first: counts must not depend on its heap
  int repetitions = 10;                // of a timed variant
  std::optional<int> iterations = {};  // of each of them; absent: as many as fill `min_time`
  double min_time = 0.05;              // seconds
  bool wants_operators = false;        // of an experiment, the time in each
  bool wants_warm_compile = true;      // of an experiment, how long compiling takes with a cache
  DumpParts dump = {};
  std::filesystem::path dump_folder = {};
  std::optional<std::filesystem::path> keep_profiles = {};
};

// Sets what is to be counted, simulated and timed for these metrics (none: the usual ones) and the
// limited ones.
void set_needs(PlanConfig& plan, MeasureConfig& config, const std::vector<std::string>& metrics,
               const std::vector<std::string>& limited = {});

}  // namespace instr
