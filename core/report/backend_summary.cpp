#include "core/report/backend_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/results/significance.h"

namespace instr {

namespace {

using LanguageBackend = std::pair<Language, Backend>;

double wall_median(const Measurement& measurement) {
  return median(find_working_timing(measurement)->of(kWall));
}

struct Figures {
  std::vector<double> speedups;
  std::vector<double> memory_ratios;
  std::vector<double> first_results;
  std::vector<double> ready;
};

std::optional<double> find_median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

const Measurement* eager_among(const std::vector<const Measurement*>& alternatives) {
  for (const Measurement* measurement : alternatives) {
    if (measurement->variant.backend == Backend::kEager &&
        find_working_timing(*measurement) != nullptr)
      return measurement;
  }
  return nullptr;
}

void add_benchmark(const std::vector<const Measurement*>& alternatives,
                   std::map<LanguageBackend, BackendSummary>& summaries,
                   std::map<LanguageBackend, Figures>& figures) {
  const Measurement* eager = eager_among(alternatives);
  const Measurement* fastest = find_fastest(alternatives);
  for (const Measurement* measurement : alternatives) {
    const LanguageBackend backend{measurement->variant.language, measurement->variant.backend};
    BackendSummary& summary = summaries[backend];
    Figures& known = figures[backend];
    ++summary.requested;
    if (measurement == fastest) ++summary.fastest;
    const Timing* timing = find_working_timing(*measurement);
    if (timing == nullptr) continue;
    ++summary.works;
    if (!timing->of(kFirstResultTime).empty())
      known.first_results.push_back(median(timing->of(kFirstResultTime)));
    if (!timing->of(kReadyTime).empty()) known.ready.push_back(median(timing->of(kReadyTime)));
    if (eager == nullptr) continue;
    if (auto faster = times_better(wall_median(*eager), wall_median(*measurement)))
      known.speedups.push_back(*faster);
    auto less = times_better(find_working_peak(*eager).value_or(0),
                             find_working_peak(*measurement).value_or(0));
    if (less) known.memory_ratios.push_back(*less);
  }
}

}  // namespace

Benchmark benchmark_of(const Variant& variant) {
  return {variant.label,   variant.params, variant.autograd,
          variant.threads, variant.device, variant.language};
}

bool has_passed(const Measurement& measurement) {
  const auto& verification = measurement.verification;
  return !verification || verification->code == VerificationCode::kPass;
}

const Timing* find_working_timing(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  bool is_timed = counted != nullptr && counted->timing.has_value();
  return is_timed && has_passed(measurement) ? &*counted->timing : nullptr;
}

std::optional<double> find_working_metric(const Measurement& measurement,
                                          const std::string& metric) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr || !has_passed(measurement)) return std::nullopt;
  auto it = counted->metrics.find(metric);
  return it == counted->metrics.end() ? std::nullopt : std::optional(it->second);
}

std::optional<double> find_working_peak(const Measurement& measurement) {
  auto on_device = find_working_metric(measurement, kDevicePeakBytes);
  return on_device ? on_device : find_working_metric(measurement, kPeakBytes);
}

std::optional<double> times_better(double of_eager, double of_this) {
  if (!(of_eager > 0) || !(of_this > 0)) return std::nullopt;
  return of_eager / of_this;
}

const Measurement* find_fastest(const std::vector<const Measurement*>& alternatives) {
  std::vector<const Measurement*> working;
  for (const Measurement* measurement : alternatives) {
    if (measurement != nullptr && find_working_timing(*measurement) != nullptr)
      working.push_back(measurement);
  }
  if (working.size() < 2) return nullptr;
  const Measurement* min = *std::min_element(
      working.begin(), working.end(),
      [](const auto* left, const auto* right) { return wall_median(*left) < wall_median(*right); });
  auto is_as_fast = [&](const Measurement* measurement) {
    auto ratio =
        speedup(find_working_timing(*measurement)->of(kWall), find_working_timing(*min)->of(kWall));
    return measurement == min || (ratio && ratio->is_same());
  };
  std::stable_sort(working.begin(), working.end(), [](const auto* left, const auto* right) {
    return left->variant.backend < right->variant.backend;
  });
  return *std::find_if(working.begin(), working.end(), is_as_fast);
}

std::vector<BackendSummary> summarize_backends(const std::vector<Measurement>& measurements) {
  std::map<Benchmark, std::vector<const Measurement*>> benchmarks;
  for (const Measurement& measurement : measurements) {
    benchmarks[benchmark_of(measurement.variant)].push_back(&measurement);
  }
  std::map<LanguageBackend, BackendSummary> summaries;
  std::map<LanguageBackend, Figures> figures;
  for (const auto& [benchmark, alternatives] : benchmarks) {
    add_benchmark(alternatives, summaries, figures);
  }
  std::vector<BackendSummary> all;
  std::map<Language, std::size_t> timed;
  for (auto& [backend, summary] : summaries) {
    std::tie(summary.language, summary.backend) = backend;
    summary.speedup = geometric_mean(figures[backend].speedups);
    summary.memory_saved = geometric_mean(figures[backend].memory_ratios);
    summary.first_result = find_median(figures[backend].first_results);
    summary.ready = find_median(figures[backend].ready);
    if (summary.works > 0) ++timed[backend.first];
    all.push_back(summary);
  }
  const bool has_choice =
      std::any_of(timed.begin(), timed.end(), [](const auto& entry) { return entry.second > 1; });
  return has_choice ? all : std::vector<BackendSummary>{};
}

}  // namespace instr
