// Finds a LibTorch, with the paths and flags to compile and link against it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

struct LibTorch {
  std::filesystem::path root;  // as --libtorch would name it
  std::string found_by;        // "--libtorch", "TORCH_DIR", "CMAKE_PREFIX_PATH", "python", "system"
  std::string version;         // "2.13.0"
  std::string build_id;        // of libtorch_cpu.so, hexadecimal; a content hash if it has none
  std::vector<std::filesystem::path> include_dirs;
  std::filesystem::path library_dir;
  std::vector<std::string> libraries;  // "torch", "torch_cpu", "c10", ...
  std::vector<std::string> defines;    // "_GLIBCXX_USE_CXX11_ABI=1"
  bool has_cuda = false;
  // CUDA's headers, which LibTorch's headers about CUDA include; from the toolkit at CUDA_HOME or
  // CUDA_PATH, from the packages beside a Python's LibTorch, or from a toolkit at its usual place.
  std::optional<std::filesystem::path> cuda_headers;
};

// Returns the LibTorch::build_id of the libraries in this folder.
std::string read_library_id(const std::filesystem::path& library_dir);

// Tries in this order: `requested` (--libtorch), TORCH_DIR, CMAKE_PREFIX_PATH, the torch of the
// Python environment that this program is installed in, else of the active Python (VIRTUAL_ENV,
// CONDA_PREFIX, python3 on PATH; searches site-packages, imports nothing), the system's package. If
// --libtorch or TORCH_DIR names a place without a LibTorch, that is an error; CMAKE_PREFIX_PATH
// lists places for all kinds of packages.
Expected<LibTorch> find_libtorch(const std::optional<std::filesystem::path>& requested);

}  // namespace instr
