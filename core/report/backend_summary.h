// The summary of a run over several backends: how many benchmarks each works for, how often it is
// the fastest, how much faster than eager it is overall, and how long it takes to start. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/results/measurement.h"

namespace instr {

// What runs by one backend or another: label, parameters, autograd, threads, device, language.
using Benchmark = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                             Autograd, int, std::string, Language>;

Benchmark benchmark_of(const Variant& variant);

struct BackendSummary {
  Language language = Language::kCpp;
  Backend backend = Backend::kEager;
  std::size_t requested = 0;  // benchmarks
  std::size_t works = 0;      // of these: timed and, if verified, correct
  std::size_t fastest = 0;    // fastest_of() those that more than one backend works for
  // Geometric mean of the speed-ups over eager; where both work.
  std::optional<double> speedup;
  // Geometric mean of eager's peak of live bytes over this one's; where both were measured and
  // work.
  std::optional<double> memory_saved;
  // Medians, nanoseconds; if requested.
  std::optional<double> first_result;
  std::optional<double> ready;
};

// The backends that were requested, by language and in the order of kBackends. Empty if there is
// nothing to compare: fewer than two of each language were timed.
std::vector<BackendSummary> summarize_backends(const std::vector<Measurement>& measurements);

// Not verified, or found correct.
bool has_passed(const Measurement& measurement);

// The wall times of a variant that works; null for others.
const Timing* timing_of_working(const Measurement& measurement);

// A metric of a variant that works; nothing if it was not measured.
std::optional<double> metric_of_working(const Measurement& measurement, const std::string& metric);

// Peak of live bytes of a variant that works: the device's if that is known.
std::optional<double> peak_of_working(const Measurement& measurement);

// How many times as fast, or as small, as eager; nothing if either is not above 0.
std::optional<double> times_better(double of_eager, double of_this);

// The one with the least median wall time; of those that differ from it by no more than chance the
// first in the order of kBackends: a plainer one is not given up for nothing. Null if fewer than
// two work.
const Measurement* fastest_of(const std::vector<const Measurement*>& alternatives);

}  // namespace instr
