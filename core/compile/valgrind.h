// Finds Valgrind: the system's, or one that was unpacked or installed elsewhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace instr {

struct Valgrind {
  std::filesystem::path program = "valgrind";  // looked up on PATH unless it has a slash
  std::filesystem::path tools = {};    // VALGRIND_LIB's value; empty: the folder that was built in
  std::filesystem::path headers = {};  // the folder that contains valgrind/; empty: the system's
  std::string version = {};            // "valgrind-3.19.0"
};

// Tries `requested` (--valgrind), else INSTR_BENCH_VALGRIND, else PATH. The tools of one that was
// moved are in VALGRIND_LIB, or below the same prefix.
Expected<Valgrind> find_valgrind(const std::optional<std::string>& requested);

}  // namespace instr
