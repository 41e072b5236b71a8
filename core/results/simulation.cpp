#include "core/results/simulation.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "core/definitions/metrics.h"

namespace instr {

namespace {

constexpr double kCyclesOfLlHit = 5;
constexpr double kCyclesOfRamHit = 35;

using Events = std::map<std::string, double>;

double sum(const Events& events, std::initializer_list<const char*> names) {
  double total = 0;
  for (const char* name : names) {
    if (const auto event = events.find(name); event != events.end()) total += event->second;
  }
  return total;
}

// Accesses that the last level missed, those it answered, and those of the first level.
double ram_hits(const Events& events) { return sum(events, {"ILmr", "DLmr", "DLmw"}); }
double ll_hits(const Events& events) {
  return sum(events, {"I1mr", "D1mr", "D1mw"}) - ram_hits(events);
}
double l1_hits(const Events& events) {
  return sum(events, {"Ir", "Dr", "Dw"}) - ll_hits(events) - ram_hits(events);
}

double estimated_cycles(const Events& events) {
  return l1_hits(events) + kCyclesOfLlHit * ll_hits(events) + kCyclesOfRamHit * ram_hits(events);
}

struct Simulated {
  const char* metric;
  double (*of)(const Events& events);
};
constexpr auto kSimulated = std::to_array<Simulated>({
    {"data_reads", [](const Events& events) { return sum(events, {"Dr"}); }},
    {"data_writes", [](const Events& events) { return sum(events, {"Dw"}); }},
    {"i1_misses", [](const Events& events) { return sum(events, {"I1mr"}); }},
    {"d1_misses",
     [](const Events& events) {
       return sum(events, {"D1mr", "D1mw"});
     }},
    {"l1_hits", l1_hits},
    {"ll_hits", ll_hits},
    {"ram_hits", ram_hits},
    {"estimated_cycles", estimated_cycles},
    {"branches",
     [](const Events& events) {
       return sum(events, {"Bc", "Bi"});
     }},
    {"mispredictions",
     [](const Events& events) {
       return sum(events, {"Bcm", "Bim"});
     }},
});
static_assert(std::equal(kSimulated.begin(), kSimulated.end(), kCacheMetrics.begin(),
                         kBranchMetrics.end(),
                         [](const Simulated& simulated, const Metric& metric) {
                           return std::string_view(simulated.metric) == metric.name;
                         }),
              "each simulated metric has its events, in the order of the metrics");

bool has_any(const std::vector<std::string>& metrics, std::span<const Metric> of) {
  return std::ranges::any_of(
      metrics, [of](const std::string& metric) { return find_metric(metric, of) != nullptr; });
}

}  // namespace

Simulation simulation_for(const std::vector<std::string>& metrics) {
  return {has_any(metrics, kCacheMetrics), has_any(metrics, kBranchMetrics)};
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

std::optional<double> simulated_metric(const std::string& metric, const Events& events) {
  for (const Simulated& simulated : kSimulated) {
    if (metric == simulated.metric) return simulated.of(events);
  }
  return std::nullopt;
}

void add_simulated(std::map<std::string, double>& metrics, const Events& events) {
  auto add = [&](std::span<const Metric> these) {
    for (const Metric& metric : these)
      metrics[metric.name] = *simulated_metric(metric.name, events);
  };
  if (events.contains("D1mr")) add(kCacheMetrics);
  if (events.contains("Bcm")) add(kBranchMetrics);
}

}  // namespace instr
