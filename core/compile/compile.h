// Variants to shared objects: generated units, a precompiled header, a content-addressed cache.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/cache.h"
#include "core/compile/generate.h"
#include "core/compile/toolchain.h"
#include "core/values/measurement.h"

namespace instr {

struct CompiledVariant {
  Variant variant;
  std::filesystem::path unit;  // shared object that holds it
  std::string symbol;          // extern "C": an instr_snippet or, to be verified, an instr_verifier
};

// The result of one unit: compiled variants, and those whose own text does not compile.
struct UnitResult {
  std::vector<CompiledVariant> compiled;
  std::vector<Measurement>
      failed;  // outcome Failure{kCompileError}: the compiler's messages, at TOML lines
};

// That it does not compile, with the message about it.
Measurement not_compiled(const Variant& variant, std::string message);

struct CompileOptions {
  Toolchain toolchain;
  LibTorch libtorch;
  int jobs = 1;
  // The folder that holds worker/, for worker/snippet_support.h; empty: the installed one.
  std::filesystem::path sources;
  std::function<void(const std::string& what)> on_phase = {};  // "compiling 95 snippets"
  // One unit per snippet, so that its code lies at the same addresses whatever else is compiled:
  // instruction counts do not depend on them, but simulated caches and branches do.
  bool each_alone = false;
  // With line numbers, also in the user's own sources: the code is the same, the files are larger.
  bool line_numbers = false;
  Purpose purpose = Purpose::kMeasure;
};

// Compiles what the cache lacks, `jobs` units at a time, and calls `on_unit` (from any thread, one
// call at a time) as each unit is ready; cached variants come first. Returns when all are done or
// `stop` was requested. An Error only if nothing can be compiled at all.
Expected<void> compile(const std::vector<Variant>& variants, const CompileOptions& options,
                       Cache& cache, const std::function<void(UnitResult)>& on_unit,
                       std::stop_token stop);

// The results of compiling, by key.
struct CompiledVariants {
  std::map<std::string, CompiledVariant> units;
  std::map<std::string, Failure> failures;  // with the compiler's messages

  void add(const UnitResult& unit);
};

// The same for callers that need all of them at once.
Expected<CompiledVariants> compile_all(const std::vector<Variant>& variants,
                                       const CompileOptions& options, Cache& cache,
                                       std::stop_token stop);

// Keys of the variants whose unit the cache has; compiles nothing, so those with [build].sources
// are not among them.
Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants,
                                              const CompileOptions& options, Cache& cache);

// The counting worker runs under Callgrind, the native one without it. Those for Python are the
// same as shared objects, loaded by an interpreter; the one that counts does not link LibTorch
// itself.
enum class WorkerKind { kCounting, kNative, kPython, kNativePython };

// The worker program for this LibTorch and compiler, built on first use and cached.
// `sources`: the folder that holds worker/.
Expected<std::filesystem::path> build_worker(WorkerKind kind, const std::filesystem::path& sources,
                                             const CompileOptions& options, Cache& cache,
                                             std::stop_token stop);

}  // namespace instr
