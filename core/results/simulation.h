// Callgrind's simulations of caches and branches, and the metrics derived from them.
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

// The simulated caches, the same on every machine: size, ways and line in bytes, for the
// first level's instructions and data, and for the last level. Part of the fingerprint.
inline constexpr const char* kSimulatedI1 = "32768,8,64";
inline constexpr const char* kSimulatedD1 = "32768,8,64";
inline constexpr const char* kSimulatedLL = "8388608,16,64";

// The simulation needed for these metrics (core/definitions/metrics.h).
Simulation simulation_for(const std::vector<std::string>& metrics);

// Valgrind's options for a simulation.
std::vector<std::string> valgrind_options(const Simulation& simulation);

// Computes a metric from these events, of which missing ones are 0; nothing if it is not one of
// kCacheMetrics and kBranchMetrics.
std::optional<double> simulated_metric(const std::string& metric,
                                       const std::map<std::string, double>& events);

// Adds the metrics derived from events, which have Callgrind's names (Ir, Dr, D1mr, Bcm, ...) and
// are counted per iteration. Without a simulation there are no events, and no metrics.
void add_simulated(std::map<std::string, double>& metrics,
                   const std::map<std::string, double>& events);

}  // namespace instr
