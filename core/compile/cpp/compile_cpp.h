// Compiles variants in C++ to shared objects: generated units, a precompiled header, a
// content-addressed cache.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"

namespace instr {

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

}  // namespace instr
