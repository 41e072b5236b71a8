// The costs of a profile's lines under the names that the files have here, with their text.
#pragma once

#include <cstdint>
#include <memory>

#include "core/values/line_costs.h"

namespace instr {

// Names its files as they are named here: that of a definition by its TOML file, one below the
// working directory relative to it, and "" for code that nobody wrote.
void name_files(Profile& profile);

// Of a profile whose files are named so. Reads the sources as they are now.
std::shared_ptr<const LineCosts> source_lines(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
