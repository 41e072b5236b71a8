#include "core/values/simulation.h"

#include <algorithm>
#include <initializer_list>

#include "core/definitions/metrics.h"

namespace instr {

namespace {

constexpr double kCyclesOfLlHit = 5;
constexpr double kCyclesOfRamHit = 35;

bool names_any(const std::vector<std::string>& metrics, std::span<const char* const> of) {
  return std::any_of(metrics.begin(), metrics.end(), [of](const std::string& metric) {
    return std::find(of.begin(), of.end(), metric) != of.end();
  });
}

}  // namespace

Simulation simulation_for(const std::vector<std::string>& metrics) {
  return {names_any(metrics, kCacheMetrics), names_any(metrics, kBranchMetrics)};
}

std::vector<std::string> valgrind_options(const Simulation& simulation) {
  std::vector<std::string> options;
  if (simulation.cache) {
    options = {"--cache-sim=yes", std::string("--I1=") + kSimulatedI1,
               std::string("--D1=") + kSimulatedD1, std::string("--LL=") + kSimulatedLL};
  }
  if (simulation.branch) options.push_back("--branch-sim=yes");
  return options;
}

void add_simulated(std::map<std::string, double>& metrics,
                   const std::map<std::string, double>& events) {
  auto sum = [&events](std::initializer_list<const char*> names) {
    double total = 0;
    for (const char* name : names) {
      if (auto found = events.find(name); found != events.end()) total += found->second;
    }
    return total;
  };
  if (events.contains("D1mr")) {
    double ram_hits = sum({"ILmr", "DLmr", "DLmw"});
    double ll_hits = sum({"I1mr", "D1mr", "D1mw"}) - ram_hits;
    double l1_hits = sum({"Ir", "Dr", "Dw"}) - ll_hits - ram_hits;
    metrics["data_reads"] = sum({"Dr"});
    metrics["data_writes"] = sum({"Dw"});
    metrics["i1_misses"] = sum({"I1mr"});
    metrics["d1_misses"] = sum({"D1mr", "D1mw"});
    metrics["l1_hits"] = l1_hits;
    metrics["ll_hits"] = ll_hits;
    metrics["ram_hits"] = ram_hits;
    metrics["estimated_cycles"] =
        l1_hits + kCyclesOfLlHit * ll_hits + kCyclesOfRamHit * ram_hits;
  }
  if (events.contains("Bcm")) {
    metrics["branches"] = sum({"Bc", "Bi"});
    metrics["mispredictions"] = sum({"Bcm", "Bim"});
  }
}

}  // namespace instr
