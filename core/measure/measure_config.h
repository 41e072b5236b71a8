// How variants are measured, and with which tools: one value from the command line to the workers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/variant.h"
#include "core/measure/dump.h"
#include "core/results/simulation.h"

namespace instr {

enum class Isolation { kFork, kProcess };

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
  std::optional<double> timeout = {};  // CPU seconds of a variant without its own
  int retries = 2;                     // of variants whose worker was lost
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

// Returns the CPU seconds that a variant may take: its own limit, or else the one that was
// requested or a minute, ten times that if the statement compiles.
double time_limit(const Variant& variant, const MeasureConfig& config);

}  // namespace instr
