// Proves the check with slow-downs of known size, each of which a comparison must find and locate.
// Pure; core/commands/selftest.cpp runs it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compare/compare.h"

namespace instr {

// A slow-down in the small library tools/selftest/.
struct Plant {
  const char* build;  // the build that has it, tools/selftest/BUILD.toml
  const char* what;
  const char* function;  // the function that contains it
  // Costs per call; nothing if it depends on the compiler or the allocator.
  std::optional<double> ir;
  double allocs = 0;
  double alloc_bytes = 0;
};

std::span<const Plant> plants();

// The finding about a plant in one benchmark.
struct PlantFinding {
  std::string key;
  bool is_found = false;       // the check fails, by as much as was planted
  bool is_attributed = false;  // the drill-down names the function
  double change = 0;           // instructions per iteration
  double function_change = 0;  // the part of `change` in the function
};

// Returns a finding for each row of a comparison of the planted build with the unchanged build.
std::vector<PlantFinding> judge_plant(const Plant& plant, const Comparison& comparison);

// Returns the keys that differ in a comparison of two runs of the same code.
std::vector<std::string> find_false_alarms(const Comparison& comparison);

// Returns "instructions=+0|allocs=+0|...": limits that any growth exceeds.
std::string exact_limits();

}  // namespace instr
