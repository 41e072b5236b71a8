// The inputs of a compiler run besides the source: flags, the user's [build] table, and the
// identity of all of them, for the cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"

namespace instr {

// Compiler, flags, and LibTorch with its headers: what determines the code besides sources. Looks
// at the size and time of each of LibTorch's headers: some tens of milliseconds.
std::string identify_toolchain(const CompileOptions& options);

// The compiler's environment: the caller's, but with messages in English, no colours, and `scratch`
// for temporary files, which a killed compiler leaves behind.
std::vector<std::string> compiler_environment(const std::filesystem::path& scratch);

std::vector<std::string> user_compile_flags(const BuildOptions& build);
std::vector<std::string> user_link_flags(const BuildOptions& build);

// Names and contents of the user's libraries, of those that are in its `library_dirs`.
std::string identify_libraries(const BuildOptions& build);

}  // namespace instr
