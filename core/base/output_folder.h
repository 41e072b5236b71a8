// A folder that a command is to write files to, made before the command does any work.
#pragma once

#include <filesystem>

#include "core/base/error.h"

namespace instr {

// Makes the folder if it is missing. An error, with `advice`, if it or a file in it cannot be
// created.
Expected<void> make_output_folder(const std::filesystem::path& folder, const char* advice);

}  // namespace instr
