// Decides which variants are compiled together: pure, so that it can be tested without a compiler.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/definitions/variant.h"

namespace instr {

// Variants with the same code share one function, whatever their keys.
struct UnitFunction {
  std::string symbol;
  std::vector<Variant> variants;  // one or more
  std::string eager;              // symbol of the eager variant that it is compared with
};

// Snippets that may share a unit: they have the same build options and the same global setup.
struct FunctionGroup {
  std::vector<UnitFunction> functions;
  // A global setup may register operators when its unit is loaded, which a process can do only
  // once: functions that it compares must be in one unit.
  bool has_global_setup = false;
};

// Groups variants, in their order. A text that may change the meaning of the code after it is alone
// in its group or, to be verified, with that of the eager variant.
std::vector<FunctionGroup> group_functions(const std::vector<Variant>& variants,
                                           Purpose purpose = Purpose::kMeasure);

// Cuts groups into units of about `kMaxUnitSize` functions, about `jobs` units in total; the most
// expensive first. Groups are not mixed, and functions that are compared stay together.
inline constexpr std::size_t kMaxUnitSize = 60;
std::vector<std::vector<UnitFunction>> cut_units(const std::vector<FunctionGroup>& groups,
                                                 int jobs);

// Cuts groups into units of one function.
std::vector<std::vector<UnitFunction>> cut_all(const std::vector<FunctionGroup>& groups);

// Compiles variants in C++ to shared objects: generated units, a precompiled header, a
// content-addressed cache.

// Compiles the variants that are not cached, `jobs` units at a time, and calls `on_unit` (from any
// thread, one call at a time) as each unit is ready; cached variants come first. Returns when all
// are done or `stop` was requested; an error if nothing can be compiled at all.
Expected<void> compile(const std::vector<Variant>& variants, const CompileOptions& options,
                       Cache& cache, const std::function<void(UnitResult)>& on_unit,
                       std::stop_token stop);

// Returns the keys of the variants whose unit is cached. Compiles nothing, so variants with
// [build].sources are not among them.
Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants,
                                              const CompileOptions& options, Cache& cache);

// Returns, by key, a hash of each variant's code, except for the headers that it includes
// (LanguageSupport::identify).
Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                      const CompileOptions& options, Cache& cache,
                                                      std::stop_token stop);

// Returns the worker program for this LibTorch and compiler, built on first use and cached.
// `sources`: the folder that holds worker/.
Expected<std::filesystem::path> build_worker(WorkerKind kind, const std::filesystem::path& sources,
                                             const CompileOptions& options, Cache& cache,
                                             std::stop_token stop);

// Calls `work` with 0, 1, ..., `count` - 1 on up to `jobs` threads. Returns the first error, after
// which no further calls begin.
template <class Work>
Expected<void> run_parallel(std::size_t count, int jobs, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Expected<void> outcome;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      auto done = work(i);
      if (done) continue;
      std::lock_guard guard(mutex);
      if (outcome) outcome = std::move(done);
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t threads_wanted = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
    for (std::size_t i = 1; i < threads_wanted; ++i) threads.emplace_back(run);
    run();
  }
  return outcome;
}

}  // namespace instr
