// A TOML table of limits, as in a file of limits.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/definitions/limit.h"
#include "core/definitions/toml_reader.h"

namespace instr {

// { ir = "0.5%", allocs = "+0" }. `title` names the table in messages. Invalid limits and unknown
// metrics are left out and added to `errors`.
std::map<std::string, Limit> read_limits(const toml::table& table, std::string_view title,
                                         const SourceText& source, Errors& errors);

}  // namespace instr
