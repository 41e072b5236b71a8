#include "core/report/plot_values.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/format.h"
#include "core/base/parse_number.h"
#include "core/report/backend_summary.h"

namespace instr {

std::optional<double> find_metric_value(const Measurement& measurement, const std::string& metric) {
  auto value = find_working_metric(measurement, metric);
  return value && is_drawable(*value) ? value : std::nullopt;
}

std::optional<double> find_wall(const Measurement& measurement) {
  const Timing* timing = find_working_timing(measurement);
  double wall = timing == nullptr ? 0 : median(timing->of(kWall));
  return wall > 0 && is_drawable(wall) ? std::optional(wall) : std::nullopt;
}

std::optional<Spread> find_spread(const Measurement& measurement, const std::string& metric) {
  const Timing* timing = find_working_timing(measurement);
  if (timing == nullptr) return std::nullopt;
  const auto half = quartiles(timing->of(metric));
  const bool is_there =
      half && half->lower > 0 && is_drawable(half->lower) && is_drawable(half->upper);
  return is_there ? std::optional(Spread{half->lower, half->upper}) : std::nullopt;
}

std::optional<double> parse_drawable(const std::string& text) {
  const auto number = parse_number<double>(text);
  return number && is_drawable(std::fabs(*number)) ? number : std::nullopt;
}

bool precedes(const Variant& left, const Variant& right, const std::string& but) {
  auto sortable = [&but](const Variant& variant) {
    std::vector<std::tuple<std::string, double, std::string>> params;
    for (const auto& [name, text] : variant.params) {
      if (name != but) params.emplace_back(name, parse_drawable(text).value_or(0), text);
    }
    return std::tuple(variant.label, std::move(params), variant.autograd, variant.threads,
                      variant.device, variant.language, variant.backend);
  };
  return sortable(left) < sortable(right);
}

Series make_series(Backend backend) {
  return {facts_of(backend).title, static_cast<std::size_t>(backend), {}};
}

VariantNames::VariantNames(const std::vector<const Measurement*>& drawn) {
  for (const Measurement* measurement : drawn) {
    Facets facets = list_facets(measurement->variant);
    if (measurement == drawn.front()) common_ = facets;
    for (std::size_t i = 0; i < facets.size(); ++i) {
      is_common_[i] = is_common_[i] && facets[i] == common_[i];
    }
  }
}

std::string VariantNames::name_line(const Variant& variant, const std::string& but) const {
  std::string name = variant.label;
  for (const auto& [parameter, value] : variant.params) {
    if (parameter != but) name += " " + parameter + "=" + value;
  }
  return name + differing(variant, 0);
}

std::string VariantNames::name_benchmark(const Variant& variant) const {
  std::string name = variant.label;
  for (const auto& [parameter, value] : variant.params) name += " " + parameter + "=" + value;
  return name + differing(variant, 1);
}

std::string VariantNames::common_to_lines() const { return common(0); }
std::string VariantNames::common_to_benchmarks() const { return common(1); }

VariantNames::Facets VariantNames::list_facets(const Variant& variant) {
  auto threads = static_cast<std::size_t>(std::max(variant.threads, 0));
  return {make_series(variant.backend).name, to_string(variant.autograd),
          format_plural(threads, "thread"), variant.device,
          variant.language == Language::kCpp ? "" : facts_of(variant.language).title};
}

std::string VariantNames::differing(const Variant& variant, std::size_t first) const {
  Facets facets = list_facets(variant);
  std::string text;
  for (std::size_t i = first; i < facets.size(); ++i) {
    if (!is_common_[i] && !facets[i].empty()) text += ", " + facets[i];
  }
  return text;
}

std::string VariantNames::common(std::size_t first) const {
  std::string text;
  for (std::size_t i = first; i < common_.size(); ++i) {
    if (is_common_[i] && !common_[i].empty()) text += (text.empty() ? "" : ", ") + common_[i];
  }
  return text;
}

}  // namespace instr
