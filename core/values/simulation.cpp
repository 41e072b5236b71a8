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

std::optional<double> simulated_metric(const std::string& metric,
                                       const std::map<std::string, double>& events) {
  auto sum = [&events](std::initializer_list<const char*> names) {
    double total = 0;
    for (const char* name : names) {
      if (auto found = events.find(name); found != events.end()) total += found->second;
    }
    return total;
  };
  double ram_hits = sum({"ILmr", "DLmr", "DLmw"});
  double ll_hits = sum({"I1mr", "D1mr", "D1mw"}) - ram_hits;
  double l1_hits = sum({"Ir", "Dr", "Dw"}) - ll_hits - ram_hits;
  if (metric == "data_reads") return sum({"Dr"});
  if (metric == "data_writes") return sum({"Dw"});
  if (metric == "i1_misses") return sum({"I1mr"});
  if (metric == "d1_misses") return sum({"D1mr", "D1mw"});
  if (metric == "l1_hits") return l1_hits;
  if (metric == "ll_hits") return ll_hits;
  if (metric == "ram_hits") return ram_hits;
  if (metric == "estimated_cycles") {
    return l1_hits + kCyclesOfLlHit * ll_hits + kCyclesOfRamHit * ram_hits;
  }
  if (metric == "branches") return sum({"Bc", "Bi"});
  if (metric == "mispredictions") return sum({"Bcm", "Bim"});
  return std::nullopt;
}

void add_simulated(std::map<std::string, double>& metrics,
                   const std::map<std::string, double>& events) {
  auto add = [&](std::span<const char* const> names) {
    for (const char* name : names) metrics[name] = *simulated_metric(name, events);
  };
  if (events.contains("D1mr")) add(kCacheMetrics);
  if (events.contains("Bcm")) add(kBranchMetrics);
}

}  // namespace instr
