#include "core/report/backend_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/results/significance.h"

namespace instr {

namespace {

using LanguageBackend = std::pair<Language, Backend>;

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
    if (measurement != nullptr && measurement->variant.backend == Backend::kEager &&
        find_working_timing(*measurement) != nullptr)
      return measurement;
  }
  return nullptr;
}

// Returns the wall times in units of eager's median, which takes out the machine's speed when they
// were measured; without eager in nanoseconds.
std::vector<double> relative_times(const Timing& timing, const Timing* eager) {
  std::vector<double> times = timing.of(kWall);
  double unit = median(timing.eager);
  if (timing.eager.empty()) unit = eager == nullptr ? 1 : median(eager->of(kWall));
  for (double& time : times) time /= unit;
  return times;
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
    if (const auto faster = speedup_over(*find_working_timing(*eager), *timing))
      known.speedups.push_back(faster->ratio);
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
  struct Rival {
    const Measurement* measurement;
    std::vector<double> times;
  };
  const Measurement* eager = eager_among(alternatives);
  const Timing* of_eager = eager == nullptr ? nullptr : find_working_timing(*eager);
  std::vector<Rival> rivals;
  for (const Measurement* measurement : alternatives) {
    const Timing* timing = measurement == nullptr ? nullptr : find_working_timing(*measurement);
    if (timing != nullptr) rivals.push_back({measurement, relative_times(*timing, of_eager)});
  }
  if (rivals.size() < 2) return nullptr;
  const Rival min =
      *std::ranges::min_element(rivals, {}, [](const Rival& rival) { return median(rival.times); });
  const auto is_as_fast = [&min](const Rival& rival) {
    const auto ratio = speedup(rival.times, min.times);
    return rival.measurement == min.measurement || (ratio && ratio->is_same());
  };
  std::ranges::stable_sort(rivals, {},
                           [](const Rival& rival) { return rival.measurement->variant.backend; });
  return std::ranges::find_if(rivals, is_as_fast)->measurement;
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
