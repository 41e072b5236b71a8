// How variants are measured, and with which tools: one value from the command line to the workers.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/variant.h"
#include "core/measure/dump.h"
#include "core/results/measurement.h"
#include "core/results/simulation.h"

namespace instr {

enum class Isolation { kFork, kProcess };

// The tools found, and built, before anything is measured.
struct ToolConfig {
  std::optional<std::filesystem::path> libtorch = {};
  std::optional<std::string> compiler = {};
  std::optional<std::string> python = {};
  bool needs_torch = true;  // false: an interpreter without torch, or without importing it
  std::optional<std::string> valgrind = {};
  bool host_only = false;          // counts the host side of CUDA, on stand-ins for its libraries
  std::string stand_in = "sm_90";  // their made-up device
  bool only_programs = false;      // no LibTorch and no compiler is needed
  bool no_cache = false;           // recompile everything, keep nothing
  int jobs = 0;                    // 0: one for each core
};

// Returns the made-up CUDA device whose host side is counted, if it is.
inline std::optional<std::string> find_stand_in(const ToolConfig& tools) {
  return tools.host_only ? std::optional(tools.stand_in) : std::nullopt;
}

struct MeasureConfig {
  ToolConfig tools = {};
  // CPU seconds of a variant without its own limit.
  std::optional<double> timeout = {};

  // Counting:
  bool wants_counts = true;
  bool wants_functions = false;  // the functions' self costs, for results that are kept or compared
  bool follows_calls = false;    // an interpreter's calls are functions, too
  bool call_paths = false;       // a cost for each path of calls, in call trees and kept profiles
  bool wants_lines = false;      // the costs of source lines, too
  Simulation simulation = {};
  int retries = 2;  // the most for a variant whose worker was lost
  Isolation isolation = Isolation::kFork;
  bool is_warm = false;  // workers that stay after a run are used
  // Blocks that each zygote allocates first: counts must not depend on its heap.
  int churn = 0;
  std::optional<std::filesystem::path> keep_profiles = {};

  // Timing:
  bool wants_times = false;
  std::vector<std::string> events = {};  // the metrics of kEventMetrics that are counted meanwhile
  bool wants_start = false;              // a fresh process' time to its first result, too
  bool wants_relative = false;           // times in units of eager's, too
  int repetitions = 10;
  // The iterations of a repetition; absent: as many as fill `min_time`, in seconds.
  std::optional<int> iterations = {};
  double min_time = 0.05;

  // Experiments:
  bool wants_operators = false;    // the time in each operator
  bool wants_warm_compile = true;  // the time of compiling with a filled cache
  bool wants_coverage = false;     // the share of operators in the graphs of torch.compile()
  bool keeps_counters = false;     // all counters of torch.compile()

  bool keeps_inputs = false;  // what each result depends on, so that a later run can go on with it
  bool verify = false;        // the other backends' results are compared with eager's
  DumpParts dump = {};
  int dump_repetitions = 1;  // iterations that are profiled, each with its own dump
  std::filesystem::path dump_folder = {};
};

// Returns the CPU seconds that a variant may take: its own limit, or else the one that was
// requested or a minute, ten times that if the statement compiles.
inline double time_limit(const Variant& variant, const MeasureConfig& config) {
  constexpr double kDefault = 60;
  // Compiling executes thousands of times as much as a call.
  const double longer = variant.compiles ? 10 : 1;
  return variant.timeout.value_or(config.timeout.value_or(kDefault) * longer);
}

// Events reported for each variant while measuring.
struct MeasureEvents {
  std::function<void(const std::string& key)> on_start;
  std::function<void(Measurement)> on_done;
  // A step of an experiment that was started: "verifying".
  std::function<void(const std::string& what)> on_step = [](const std::string&) {};
};

}  // namespace instr
