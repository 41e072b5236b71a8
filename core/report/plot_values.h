// Values of measurements that can be drawn, and names that distinguish them. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/report/plot.h"
#include "core/results/measurement.h"

namespace instr {

// Nothing if the metric is missing, cannot be drawn, or the measurement has not passed.
std::optional<double> find_metric_value(const Measurement& measurement, const std::string& metric);

// The median in nanoseconds, above 0; nothing if the variant does not work.
std::optional<double> find_wall(const Measurement& measurement);

// The quartiles of a metric that is the median of repeated times above 0.
std::optional<Spread> find_spread(const Measurement& measurement, const std::string& metric);

// The number that a parameter's text is, if it can be drawn.
std::optional<double> parse_drawable(const std::string& text);

// The order of names in a picture: by label and parameters, those that are numbers by their value,
// without the parameter `but`.
bool precedes(const Variant& left, const Variant& right, const std::string& but = "");

// An empty series of the backend.
Series make_series(Backend backend);

// Names of variants without the properties that all drawn variants have in common.
class VariantNames {
 public:
  explicit VariantNames(const std::vector<const Measurement*>& drawn);

  // With the backend, but without the parameter `but`, whose values are on the line.
  std::string name_line(const Variant& variant, const std::string& but) const;
  // Without the backend, which has a colour.
  std::string name_benchmark(const Variant& variant) const;

  std::string common_to_lines() const;
  std::string common_to_benchmarks() const;

 private:
  // Backend, autograd, threads, device, language; empty: C++.
  using Facets = std::array<std::string, 5>;
  static Facets list_facets(const Variant& variant);
  std::string differing(const Variant& variant, std::size_t first) const;
  std::string common(std::size_t first) const;

  Facets common_;
  std::array<bool, std::tuple_size_v<Facets>> is_common_{true, true, true, true, true};
};

// A metric against a parameter. Without series if no variant has the metric for two values of a
// number. Fails if there is a parameter to choose, or the chosen parameter does not exist.
Expected<Chart> growth_chart(const std::vector<Measurement>& measurements,
                             const PlotOptions& options);

}  // namespace instr
