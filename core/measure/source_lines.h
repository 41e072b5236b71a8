// The costs of a profile's lines under the names that the files have here, with their text.
#pragma once

#include <cstdint>
#include <memory>

#include "core/values/line_costs.h"

namespace instr {

// Reads the sources as they are now. Of a definition the lines are those of the TOML file; a file
// below the working directory is named relative to it.
std::shared_ptr<const LineCosts> source_lines(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
