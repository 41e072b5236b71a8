// Parses JSON of untrusted files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// Parses one value, such as a line of a JSON Lines file. An error, without place or advice, if the
// text is not JSON, or is nested so deep that copying it would overflow the stack.
Expected<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace instr
