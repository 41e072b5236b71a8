// The side of the warm worker (core/measure/warm_address.h).
#pragma once

#include <chrono>
#include <string>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

inline constexpr std::chrono::minutes kWarmIdleTime{10};

// Serves on this socket until no run has used it for `idle_time`, a file that it has loaded has
// changed, or it gets a request to stop.
Expected<void> serve_warm(Fd listening, const std::string& word,
                          std::chrono::milliseconds idle_time = kWarmIdleTime);

}  // namespace instr
