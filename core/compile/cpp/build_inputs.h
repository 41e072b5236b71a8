// The inputs of a compiler run besides the source: flags, the user's [build] table, and texts that
// identify them for the cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"

namespace instr {

// Identifies the inputs that determine the code besides sources: compiler, flags, and LibTorch with
// its headers. Checks size and time of each header, which takes some tens of milliseconds.
std::string identify_toolchain(const CompileOptions& options);

// Returns the compiler's environment: the caller's, but with English messages, no colours, and
// temporary files, which a killed compiler leaves behind, in `scratch`.
std::vector<std::string> compiler_environment(const std::filesystem::path& scratch);

std::vector<std::string> user_compile_flags(const BuildOptions& build);
std::vector<std::string> user_link_flags(const BuildOptions& build);

// Identifies the user's libraries in `library_dirs` by name and content.
std::string identify_libraries(const BuildOptions& build);

}  // namespace instr
