// The results of compiling variants, whatever their language, and the options of it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/compile/toolchain.h"
#include "core/results/measurement.h"

namespace instr {

// The purpose of a generated function: to be counted and timed, or to hand over its results.
enum class Purpose { kMeasure, kVerify };

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
Measurement make_compile_failure(const Variant& variant, std::string message);

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

// The results of compiling, by key.
struct CompiledVariants {
  std::map<std::string, CompiledVariant> units;
  std::map<std::string, Failure> failures;  // with the compiler's messages

  void add(const UnitResult& unit);
};

// The counting worker runs under Callgrind, the native one without it. Those for Python are the
// same as shared objects, loaded by an interpreter; the one that counts does not link LibTorch
// itself.
enum class WorkerKind { kCounting, kNative, kPython, kNativePython };

}  // namespace instr
