// Variants in Python to a unit of their code, compiled by the interpreter that will run it.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/python/python.h"

namespace instr {

// Reports all of them at once, as one unit; what the cache has is not compiled again. An Error if
// nothing can be compiled at all.
Expected<UnitResult> compile_python(const std::vector<Variant>& variants, const Python& python,
                                    const std::filesystem::path& sources, Cache& cache,
                                    Purpose purpose, std::stop_token stop);

// The folder in which the interpreter finds the worker of that kind, and itself, under names of a
// fixed length (worker/python/serve.py): built on first use for this interpreter, with the code of
// the modules that one that counts imports, and cached. Returns the worker, a shared object.
Expected<std::filesystem::path> build_python_worker(WorkerKind kind, const Python& python,
                                                    const CompileOptions& options, Cache& cache,
                                                    std::stop_token stop);

// The name that a process has for that folder, open as kProgramFolderFd (worker/wire.h); what the
// interpreter is started with for that task of serve.py, and what its environment has besides the
// pinned one.
std::string python_folder();
std::vector<std::string> python_command(const std::string& task);
std::vector<std::string> python_environment();
// For one that counts: where the code of the modules that it imports is kept.
std::string python_code_cache();

// The modules whose code is kept there for this worker; none if it is not one for Python.
std::vector<std::filesystem::path> list_python_modules(const std::filesystem::path& worker);

}  // namespace instr
