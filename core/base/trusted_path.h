// Whether others can put something else in the place of a folder of ours, from which we run code.
#pragma once

#include <filesystem>

#include "core/base/error.h"

namespace instr {

// Goes from the root to `path` (absolute), through symbolic links: each folder and link on the way
// must belong to this user, to root or to the owner of `/`, and no folder may be writable for
// others, but those with the sticky bit (/tmp), and for the group alone if that is this user's
// private one. The way ends where nothing is there yet. The error names what is wrong, with the
// cure.
Expected<void> check_trusted(const std::filesystem::path& path);

}  // namespace instr
