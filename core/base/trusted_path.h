// Checks that other users cannot replace a folder from which code is run.
#pragma once

#include <filesystem>

#include "core/base/error.h"

namespace instr {

// Checks each folder and link from the root to `path` (absolute), through symbolic links: it must
// belong to this user, to root or to the owner of `/`, and no folder may be writable for others,
// except with the sticky bit (/tmp), or for a group other than this user's private group. Stops at
// the first component that does not exist.
Expected<void> check_trusted(const fs::path& path);

}  // namespace instr
