// Reads a file's [build] table: users' own code.
#pragma once

#include <memory>

#include "core/definitions/toml_reader.h"

namespace instr {

// Paths become absolute, from the folder of the file. A missing source is an error.
std::shared_ptr<const BuildOptions> read_build(const toml::table& table, const SourceText& source,
                                               Errors& errors);

}  // namespace instr
