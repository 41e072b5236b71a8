// What Callgrind is asked to simulate beside counting instructions, and what is told of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace instr {

struct Simulation {
  bool cache = false;   // two levels, as pinned below
  bool branch = false;  // a branch predictor

  bool any() const { return cache || branch; }
  bool operator==(const Simulation&) const = default;
};

// The caches that are simulated, whatever the machine has: size, ways and line in bytes, for the
// first level's instructions and data, and for the last level. Part of the fingerprint.
inline constexpr const char* kSimulatedI1 = "32768,8,64";
inline constexpr const char* kSimulatedD1 = "32768,8,64";
inline constexpr const char* kSimulatedLL = "8388608,16,64";

// What must be simulated to have these metrics (core/definitions/metrics.h).
Simulation simulation_for(const std::vector<std::string>& metrics);

// Valgrind's options for it.
std::vector<std::string> valgrind_options(const Simulation& simulation);

// A metric as events tell it, those that are missing being 0; nothing if it is none of
// kCacheMetrics and kBranchMetrics.
std::optional<double> simulated_metric(const std::string& metric,
                                       const std::map<std::string, double>& events);

// Adds to `metrics` what events say, named as Callgrind names them (Ir, Dr, D1mr, Bcm, ...), with
// their counts per iteration. What was not simulated has no events, and no metrics.
void add_simulated(std::map<std::string, double>& metrics,
                   const std::map<std::string, double>& events);

}  // namespace instr
