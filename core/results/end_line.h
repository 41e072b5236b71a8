// The line by which a file that is complete ends, of results and of functions alike.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace instr {

// The last line, without its newline, of a file that is complete: what was cut off lacks it.
// `measurements` is how many the file has.
std::string end_line(std::size_t measurements);

// The number in such a line; nothing if `line` is another one.
std::optional<std::size_t> measurements_at_end(const nlohmann::ordered_json& line);

}  // namespace instr
