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
  std::filesystem::path compiler;
  bool is_clang = false;
  std::string version;             // first line of --version
  std::vector<std::string> flags;  // all flags for units, LibTorch's own included
  // The flags for the user's own sources: as in their build, and so that they can be loaded.
  std::vector<std::string> user_flags;
  std::vector<std::string> link_flags;
};

// The name by which a worker finds LibTorch's libraries: a link of this name is in each folder that
// it runs in, so that their location shows nowhere in its memory.
inline constexpr const char* kLibraryLink = wire::kLibraryLink;

// `requested` (--compiler), then clang++ (14 or newer) if present, then g++.
Expected<Toolchain> find_toolchain(const std::optional<std::string>& requested,
                                   const LibTorch& libtorch);

}  // namespace instr
