// Whether others could replace a folder from which we run code.
#pragma once

#include <filesystem>

#include "core/base/error.h"

namespace instr {

// Goes from the root to `path` (absolute), through symbolic links: each folder and link on the way
// must belong to this user, to root or to the owner of `/`, and no folder may be writable for
// others, except with the sticky bit (/tmp), or for a group other than this user's private one. The
// walk ends at the first component that does not exist. The error says what is wrong and how to fix
// it.
Expected<void> check_trusted(const std::filesystem::path& path);

}  // namespace instr
