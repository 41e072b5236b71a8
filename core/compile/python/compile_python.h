// Compiles variants in Python to a unit of code, with the interpreter that will run it.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
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

// Makes the folder in which the interpreter finds this kind of worker, a shared object, and itself,
// by names of a fixed length (worker/python/serve.py): on first use for this interpreter, and
// cached. The folder of a counting worker also contains the code of the modules that it imports.
// `imports`: modules that a native worker imports before it forks, as far as they are installed.
Expected<WorkerProgram> build_python_worker(WorkerKind kind, const Python& python,
                                            const std::set<std::string>& imports,
                                            const CompileOptions& options, Cache& cache,
                                            std::stop_token stop);

// Returns the counting worker that was compiled with this program, as in a wheel; nothing: users
// compile it.
std::optional<std::filesystem::path> find_prebuilt_worker(const std::filesystem::path& sources);

// Returns the modules whose code is kept for a counting worker; none if its language is not Python.
std::vector<std::filesystem::path> list_python_modules(const std::filesystem::path& worker);

}  // namespace instr
