// Finds a LibTorch, with the paths and flags to compile and link against it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

struct LibTorch {
  std::filesystem::path root;  // the folder that --libtorch would name
  std::string found_by;        // "--libtorch", "TORCH_DIR", "CMAKE_PREFIX_PATH", "python", "system"
  std::string version;         // "2.13.0"
  std::string build_id;        // libtorch_cpu.so's, hexadecimal; a content hash if it has none
  std::vector<std::filesystem::path> include_dirs;
  std::filesystem::path library_dir;
  std::vector<std::string> libraries;  // "torch", "torch_cpu", "c10", ...
  std::vector<std::string> defines;    // "_GLIBCXX_USE_CXX11_ABI=1"
  bool has_cuda = false;
  // CUDA's headers, which LibTorch's headers about CUDA include; from the toolkit at CUDA_HOME or
  // CUDA_PATH, from the packages beside a Python's LibTorch, or from a toolkit at its usual place.
  std::optional<std::filesystem::path> cuda_headers;
  // The made-up device of the stand-ins that replace CUDA's libraries ("sm_90"); absent: none do.
  std::optional<std::string> stand_in = {};
};

// Returns the LibTorch::build_id of the libraries in this folder.
std::string read_library_id(const std::filesystem::path& library_dir);

// A place where a LibTorch may be.
struct LibTorchPlace {
  enum class Kind {
    kNamed,   // named by a person: an error if it has no LibTorch
    kPrefix,  // listed for all kinds of packages
    kPython,  // the prefix of an interpreter: searches its site-packages, imports nothing
    kSystem
  };
  std::string name;  // "--libtorch", "TORCH_DIR", "VIRTUAL_ENV", "python3"
  std::filesystem::path folder;
  Kind kind = Kind::kNamed;
};

// Lists the places that find_libtorch() looks at, in its order: `requested` (--libtorch), TORCH_DIR
// and the like, CMAKE_PREFIX_PATH, the Python environment that this program is installed in, the
// active Python (VIRTUAL_ENV, CONDA_PREFIX, python3 on PATH), the system's package.
std::vector<LibTorchPlace> list_libtorch_places(
    const std::optional<std::filesystem::path>& requested);

// Returns the version of the LibTorch in a place; empty: it has none.
Expected<std::string> describe_libtorch_at(const LibTorchPlace& place);

// Returns the LibTorch in the first place that has one.
Expected<LibTorch> find_libtorch(const std::optional<std::filesystem::path>& requested);

}  // namespace instr
