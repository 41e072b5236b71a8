// The results of compiling variants in any language, and the options for it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/phase.h"
#include "core/compile/toolchain.h"
#include "core/definitions/variant.h"
#include "core/results/measurement.h"

namespace instr {

// The purpose of a generated function: to be counted and timed, or to hand over its results.
enum class Purpose { kMeasure, kVerify };

struct CompiledVariant {
  Variant variant;
  std::filesystem::path unit;  // the shared object that contains it
  std::string symbol;          // extern "C": an instr_snippet or, to be verified, an instr_verifier
};

struct UnitResult {
  std::vector<CompiledVariant> compiled;
  std::vector<Measurement> failed;  // Failure{kCompileError}: the compiler's messages at TOML lines
};

// Makes the result of a variant that does not compile.
inline Measurement make_compile_failure(const Variant& variant, std::string message) {
  Measurement measurement;
  measurement.variant = variant;
  measurement.outcome = Failure{FailureKind::kCompileError, std::move(message)};
  return measurement;
}

struct CompileOptions {
  Toolchain toolchain;
  LibTorch libtorch;
  int jobs = 1;
  // The folder that holds worker/, for worker/snippet_support.h; empty: the installed one.
  std::filesystem::path sources;
  // The folder that contains valgrind/callgrind.h; empty: the system's.
  std::filesystem::path valgrind_headers = {};
  BeginPhase on_phase = {};  // "compiling 95 snippets"
  // Compiles a unit per snippet, so that its code has the same addresses whatever else is compiled:
  // instruction counts do not depend on addresses, but simulated caches and branches do.
  bool each_alone = false;
  // Compiles with line numbers, also the user's own sources: the code is the same, files are
  // larger.
  bool line_numbers = false;
  Purpose purpose = Purpose::kMeasure;
  // The interpreter that the user named (--python), and the processors for which AOTInductor
  // packages are made with it (core/compile/python/packages.h).
  std::optional<std::string> python = {};
  bool packages_to_count = false;
  bool packages_to_time = false;
};

// The results of compiling, by key.
struct CompiledVariants {
  std::map<std::string, CompiledVariant> units;
  std::map<std::string, Failure> failures;  // each with the compiler's messages

  void add(const UnitResult& unit) {
    for (const auto& variant : unit.compiled) units.emplace(variant.variant.key, variant);
    for (const auto& measurement : unit.failed) {
      failures.emplace(measurement.variant.key, std::get<Failure>(measurement.outcome));
    }
  }
};

// The counting worker runs under Callgrind, the native worker without it. The workers for Python
// are shared objects, loaded by an interpreter; the counting one does not link LibTorch itself.
enum class WorkerKind { kCounting, kNative, kPython, kNativePython };

// A variant with the work that a run would do for it.

enum class PlannedStep {
  kUnknown,  // it would be measured; whether its unit is cached is unknown
  kCached,   // the unit is in the cache
  kCompile,  // the unit has to be compiled
  kSkip,     // it cannot be measured here
  kMeasured  // the result is there already
};

struct PlannedVariant {
  Variant variant;
  PlannedStep step = PlannedStep::kUnknown;
  std::string reason;  // the reason for kSkip
};

// The command that starts a worker, which depends on its language.

struct WorkerProgram {
  std::filesystem::path file = {};  // the worker, in its folder of the cache
  // The program, its arguments and its environment ("NAME=value"). Names of files are relative to
  // the working directory or to kProgramFolderFd (worker/wire.h), so that no path of the cache is
  // in the worker's memory.
  std::vector<std::string> command = {};
  std::vector<std::string> environment = {};
  std::filesystem::path working_directory = "/";
  // Further files and folders that the program has open, by descriptor.
  std::vector<std::pair<std::filesystem::path, int>> open_files = {};
};

}  // namespace instr
