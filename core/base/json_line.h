// JSON from an untrusted file, in time and memory that grow only with its size.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// One value, such as a line of a JSON Lines file. An error, without place or advice, if it
// is not JSON, or has an object of more than 256 members: ordered_json searches linearly for each
// new one.
Expected<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace instr
