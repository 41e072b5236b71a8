// Work on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include "core/base/error.h"

namespace instr {

// Calls `work` with 0, 1, ..., `count` - 1 on up to `jobs` threads. Returns the first error, after
// which no further calls begin.
Expected<void> run_parallel(std::size_t count, int jobs,
                            const std::function<Expected<void>(std::size_t)>& work);

}  // namespace instr
