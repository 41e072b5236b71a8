// Has the native worker run variants beside eager ones and compare what both compute.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cache.h"
#include "core/compile.h"
#include "core/error.h"
#include "core/measurement.h"

namespace instr {

struct VerifierOptions {
  std::filesystem::path worker;    // program that build_worker made of kNative
  double timeout_s = 60;           // of one variant that names none itself
  std::uint64_t memory_limit = 0;  // bytes that a process may use; 0: all there are
};

struct VerifierEvents {
  std::function<void(const std::string& key)> on_start;
  // A measurement that has a verification alone.
  std::function<void(Measurement)> on_done;
};

// Whether there is an eager variant to hold this one against.
bool is_candidate(const Variant& variant);

// The eager variant of the same benchmark.
Variant eager_of(const Variant& candidate);

// Compiles the candidates and their eager variants for this (`compile` says how, its purpose aside),
// and verifies one after the other: each ends in one call of on_done. False where `stop` was
// requested first; an Error where none can be verified at all.
Expected<bool> verify_all(const std::vector<Variant>& candidates, CompileOptions compile,
                          Cache& cache, const VerifierOptions& options,
                          const VerifierEvents& events, std::stop_token stop);

}  // namespace instr
