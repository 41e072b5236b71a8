// The summary of a run over several backends. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/results/measurement.h"

namespace instr {

// Everything about a variant but its backend: label, parameters, autograd, threads, device,
// language.
using Benchmark = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                             Autograd, int, std::string, Language>;

Benchmark benchmark_of(const Variant& variant);

struct BackendSummary {
  Language language = Language::kCpp;
  Backend backend = Backend::kEager;
  std::size_t requested = 0;  // benchmarks
  std::size_t works = 0;      // benchmarks that were timed and, if verified, are correct
  std::size_t fastest = 0;    // benchmarks for which it is find_fastest() the backends that work
  // Geometric means over the benchmarks for which eager works, too: the speed-ups, and eager's peak
  // of live bytes over this backend's.
  std::optional<double> speedup;
  std::optional<double> memory_saved;
  // Medians, nanoseconds; if requested.
  std::optional<double> first_result;
  std::optional<double> ready;
};

// The requested backends, by language and in the order of kBackends. Empty if fewer than two of
// each language were timed.
std::vector<BackendSummary> summarize_backends(const std::vector<Measurement>& measurements);

// True if the measurement was not verified, or is correct.
bool has_passed(const Measurement& measurement);

// The wall times of a variant that works, else null.
const Timing* find_working_timing(const Measurement& measurement);

// A metric of a variant that works; nothing if it was not measured.
std::optional<double> find_working_metric(const Measurement& measurement,
                                          const std::string& metric);

// Peak of live bytes of a variant that works: the device's if that is known.
std::optional<double> find_working_peak(const Measurement& measurement);

// The ratio to eager of a time or size; nothing if either is not above 0.
std::optional<double> times_better(double of_eager, double of_this);

// The measurement with the least median wall time or, if others differ from it by no more than
// chance, the first of all these in the order of kBackends, which is the plainest. Null if fewer
// than two work.
const Measurement* find_fastest(const std::vector<const Measurement*>& alternatives);

}  // namespace instr
