// The inputs of a compiler run besides the source: flags, the user's [build] table, and texts that
// identify them for the cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/process.h"
#include "core/compile/compiled_variant.h"

namespace instr {

void append(std::vector<std::string>& to, const std::vector<std::string>& from);
std::string one_per_line(const std::vector<std::string>& words);

// Returns the flags for the compiler's list of the files that it reads (TrackedArtefacts).
std::vector<std::string> dependency_flags(const std::filesystem::path& list);

// Describes why a compiler failed: its own messages, unless the system ended it.
std::string describe_compiler_errors(const CommandResult& result);

// Identifies the inputs that determine the code besides sources: compiler, flags, and LibTorch with
// its headers. Checks size and time of each header, which takes some tens of milliseconds.
std::string identify_toolchain(const CompileOptions& options);

// Returns the compiler's environment: the caller's, but with English messages, no colours, and
// temporary files, which a killed compiler leaves behind, in `scratch`.
std::vector<std::string> compiler_environment(const std::filesystem::path& scratch);

// The name of the library made of the user's sources, by which units find it at their side. It
// differs from that of any other [build] table whose units a process may load.
std::string user_library_name(const BuildOptions& build);

// A compiler gets the first list also when it links, as for -fopenmp and -fsanitize.
std::vector<std::string> user_compile_flags(const BuildOptions& build);
std::vector<std::string> user_link_flags(const BuildOptions& build);

// Describes the options that determine the code of a user's source, or all options. The text is the
// same in each working tree of a repository.
std::string describe_compile_options(const BuildOptions& build);
std::string describe_build(const BuildOptions& build);

// Returns the flag for __FILE__, and for debug information unless it is to name lines: files below
// the root by their place in it, so that the code is the same in each working tree.
std::string root_flag(const std::filesystem::path& root, bool line_numbers);

// Identifies the user's libraries in `library_dirs` by name and content.
std::string identify_libraries(const BuildOptions& build);

}  // namespace instr
