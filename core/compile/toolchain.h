// The C++ compiler that units and the worker are compiled with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compile/libtorch.h"
#include "worker/wire.h"

namespace instr {

struct Toolchain {
  std::filesystem::path compiler = {};  // empty: there is none (check_compiler)
  bool is_clang = false;
  std::string version = {};             // first line of --version
  std::vector<std::string> flags = {};  // all flags for units, including LibTorch's
  // Flags for the user's own sources: as in their build, and so that they can be loaded.
  std::vector<std::string> user_flags = {};
  std::vector<std::string> link_flags = {};
};

// The name by which a worker finds LibTorch's libraries: each folder that it runs in has a link of
// this name, so that the libraries' location does not appear in its memory.
inline constexpr const char* kLibraryLink = wire::kLibraryLink;

inline constexpr const char* kNoCompiler = "no C++ compiler";
inline constexpr const char* kInstallCompiler = "Debian: apt-get install clang";

// Returns false if there is neither clang++ (14 or newer) nor g++ (10 or newer) on PATH.
Expected<bool> has_compiler();

// The error if there is no compiler.
Expected<void> check_compiler(const Toolchain& toolchain);

// Tries `requested` (--compiler), else clang++ (14 or newer), then g++. Without any, snippets in
// Python can still be counted if their worker is prebuilt.
Expected<Toolchain> find_toolchain(const std::optional<std::string>& requested,
                                   const LibTorch& libtorch);

// Finds Valgrind: the system's, or one that was unpacked or installed elsewhere.

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
