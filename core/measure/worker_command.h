// The command that starts a worker, under Callgrind or natively.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/compile/worker_program.h"
#include "core/results/simulation.h"

namespace instr {

struct WorkerOptions {
  WorkerProgram program = {};
  std::filesystem::path valgrind = {};        // empty: a native worker, which runs without it
  std::filesystem::path valgrind_tools = {};  // a moved Valgrind's (Valgrind::tools), or empty
  std::filesystem::path work_dir = {};        // the folder for profiles and logs
  Simulation simulation = {};
  // Profiles have a cost for each path of calls. So that only the paths of the counted code exist,
  // instrumentation starts with it.
  bool call_paths = false;
  int churn = 0;  // blocks for each zygote to allocate first, half of them permanently
  // A process that prepares itself is given up after being idle for this time, however long it
  // works: an emulated machine needs half an hour to start LibTorch.
  std::chrono::milliseconds idle_limit = std::chrono::minutes(5);

  bool is_native() const { return valgrind.empty(); }
};

std::vector<std::string> worker_command(const WorkerOptions& options);

}  // namespace instr
