// The proof of the check: slow-downs of known size, and whether a comparison finds and locates
// each. Pure; core/commands/selftest.cpp runs it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compare/compare.h"

namespace instr {

// One slow-down in the small library tools/selftest/, and the build that has it.
struct Plant {
  const char* build;  // tools/selftest/BUILD.toml
  const char* what;
  const char* function;  // that contains it
  // Per call; nothing if it depends on the compiler or the allocator.
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
  double function_change = 0;  // of those, in the function
};

// One per row of a comparison of the planted build with the unchanged one.
std::vector<PlantFinding> judge_plant(const Plant& plant, const Comparison& comparison);

// Rows of a comparison of two unchanged runs that are not the same.
std::vector<std::string> false_alarms(const Comparison& comparison);

// "instructions=+0|allocs=+0|...": under these limits everything that grows fails.
std::string exact_limits();

}  // namespace instr
