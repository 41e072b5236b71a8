// The last line of a complete file, of results or functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace simdjson::dom {
class element;
}

namespace instr {

// The last line, without its newline, of a complete file: a truncated one lacks it. `measurements`
// is how many the file has.
std::string end_line(std::size_t measurements);

// The number in such a line; nothing for any other `line`.
std::optional<std::size_t> measurements_at_end(simdjson::dom::element line);

}  // namespace instr
