// Compiles variants in Python to a unit of code, with the interpreter that will run it.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/python/python.h"

namespace instr {

// Compiles all variants to one unit, unless it is cached. An error if nothing can be compiled at
// all.
Expected<UnitResult> compile_python(const std::vector<Variant>& variants, const Python& python,
                                    const std::filesystem::path& sources, Cache& cache,
                                    Purpose purpose, std::stop_token stop);

// Returns the counting worker that was compiled with this program, as in a wheel; nothing: users
// compile it.
std::optional<std::filesystem::path> find_prebuilt_worker(const std::filesystem::path& sources);

// Returns the modules whose code is kept for a counting worker; none if its language is not Python.
std::vector<std::filesystem::path> list_python_modules(const std::filesystem::path& worker);

}  // namespace instr
