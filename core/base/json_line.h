// JSON from a file that may be anything, in time and memory that grow with its size alone.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// One value, such as a line of a JSON Lines file. An error, with neither place nor advice, where it
// is no JSON, or has an object of more than 256 members: ordered_json looks for each new one among
// all that there are.
Expected<nlohmann::ordered_json> parse_json(std::string_view text);

// The last line, without its newline, of a file that is complete: what was cut off lacks it.
// `measurements` is how many the file has.
std::string end_line(std::size_t measurements);

// The number in such a line; nothing where `line` is another one.
std::optional<std::size_t> measurements_at_end(const nlohmann::ordered_json& line);

}  // namespace instr
