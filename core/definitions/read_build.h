// Reads a file's [build] table: users' own code.
#pragma once

#include <filesystem>
#include <memory>

#include "core/definitions/toml_reader.h"

namespace instr {

// Paths become absolute, from the folder of the file. A missing source is an error.
std::shared_ptr<const BuildOptions> read_build(const toml::table& table, const SourceText& source,
                                               Errors& errors);

// The [build] table of a TOML file, whatever else it holds. An error if it has none.
tl::expected<std::shared_ptr<const BuildOptions>, Errors> load_build(
    const std::filesystem::path& file);

}  // namespace instr
