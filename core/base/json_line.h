// JSON from a file that may be anything, in time and memory that grow with its size alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// One value, such as a line of a JSON Lines file. An error, with neither place nor advice, if it
// is no JSON, or has an object of more than 256 members: ordered_json looks for each new one among
// all that there are.
Expected<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace instr
