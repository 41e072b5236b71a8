// What pictures take from measurements: values that can be drawn, and names that tell them apart.
// Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/report/plot.h"
#include "core/results/measurement.h"

namespace instr {

// Nothing where there is no such metric, it cannot be drawn, or the measurement has not passed.
std::optional<double> metric_of(const Measurement& one, const std::string& metric);

// Nanoseconds, above 0; the median of what works.
std::optional<double> wall_of(const Measurement& one);

// The quartiles of a metric that is the median of repeated times, all of them above 0.
std::optional<Spread> spread_of(const Measurement& one, const std::string& metric);

// What a parameter's text is where it is a number that can be drawn.
std::optional<double> number_from(const std::string& text);

// The order of names in a picture, whichever was measured first: parameters that are numbers as
// these, without the one that a line goes through.
bool stands_before(const Variant& left, const Variant& right, const std::string& but = "");

// A series of the backend, without points.
Series series_of(Backend backend);

// Of variants, without what all of those that are drawn have in common: that is said once.
class VariantNames {
 public:
  explicit VariantNames(const std::vector<const Measurement*>& drawn);

  // With the backend, but without the parameter `but`: a line goes through its values.
  std::string of_line(const Variant& variant, const std::string& but) const;
  // Without the backend: it has a colour.
  std::string of_benchmark(const Variant& variant) const;

  std::string common_to_lines() const;
  std::string common_to_benchmarks() const;

 private:
  // Backend, autograd, threads, device, language; empty: C++.
  using Facets = std::array<std::string, 5>;
  static Facets facets_of(const Variant& variant);
  std::string differing(const Variant& variant, std::size_t first) const;
  std::string common(std::size_t first) const;

  Facets common_;
  std::array<bool, std::tuple_size_v<Facets>> is_common_{true, true, true, true, true};
};

// Of one metric against a parameter. Without series where nothing has it for two values of a
// number; an error where there is a parameter to choose, or the one chosen is none.
Expected<Chart> growth_chart(const std::vector<Measurement>& measurements,
                             const PlotOptions& options);

}  // namespace instr
