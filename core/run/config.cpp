#include "core/run/config.h"

#include <algorithm>
#include <span>

#include "core/definitions/metrics.h"

namespace instr {

void set_needs(PlanConfig& plan, MeasureConfig& config, const std::vector<std::string>& metrics,
               const std::vector<std::string>& limited) {
  auto is_among = [](std::span<const Metric> these) {
    return [these](const std::string& metric) { return find_metric(metric, these) != nullptr; };
  };
  config.wants_counts =
      metrics.empty() || !std::all_of(metrics.begin(), metrics.end(), is_among(kTimeMetrics));
  plan.axes.only_compiling = metrics == std::vector<std::string>{kCompileInstructions};
  std::vector<std::string> all = metrics;
  all.insert(all.end(), limited.begin(), limited.end());
  config.wants_times = std::any_of(all.begin(), all.end(), is_among(kTimeMetrics));
  config.wants_start = std::any_of(all.begin(), all.end(), is_among(kStartMetrics));
  config.wants_relative = std::ranges::find(all, kRelativeWall) != all.end();
  config.events.clear();
  for (const Metric& metric : kEventMetrics) {
    const bool is_asked_for = std::find(all.begin(), all.end(), metric.name) != all.end();
    if (is_asked_for) config.events.emplace_back(metric.name);
  }
  config.simulation = simulation_for(all);
}

}  // namespace instr
