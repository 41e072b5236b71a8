#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/base/phase.h"
#include "core/definitions/variant.h"
#include "core/measure/zygote_pool.h"
#include "core/results/simulation.h"

namespace instr {

struct ScheduleOptions {
  FindWorker find_worker;
  int churn = 0;  // WorkerOptions::churn
  Simulation simulation = {};
  bool call_paths = false;                              // WorkerOptions::call_paths
  bool want_lines = false;                              // costs of lines of the sources
  std::filesystem::path valgrind = "valgrind";          // looked up on PATH unless it has a slash
  std::filesystem::path valgrind_tools = {};            // WorkerOptions::valgrind_tools
  int jobs = 1;                                         // cores in total
  std::function<double(const Variant&)> expected = {};  // seconds; absent: 1 for each
  double timeout_s = 60;                                // of a variant without its own
  int retries = 2;                                      // per variant, after a lost worker
  bool fresh_process = false;                           // a Valgrind for each variant
  bool is_warm = false;  // zygotes come from warm workers (core/measure/warm_client.h)
  // Called from other threads, as when warm workers cannot be used, or a worker was lost.
  std::function<void(const std::string&)> note = {};
  BeginPhase on_phase = {};  // "starting LibTorch under Valgrind"
  bool want_functions = true;
  bool follow_calls = false;                           // of an interpreter
  std::optional<std::filesystem::path> keep_profiles;  // folder; made if it is missing
};

}  // namespace instr
