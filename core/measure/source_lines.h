// The costs of a profile's lines under the names that the files have here, with their text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/values/line_costs.h"

namespace instr {

// The name of a file of the debug information: of a definition that of the TOML file, below the
// working directory relative to it; "" for code that nobody wrote.
std::string shown_file(const std::string& file);

// Reads the sources as they are now.
std::shared_ptr<const LineCosts> source_lines(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
