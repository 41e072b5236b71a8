// The tables [[backend]] and [[setting]] of a TOML file, which options name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/toml_reader.h"
#include "core/definitions/variant.h"

namespace instr {

// The name of the setting in which nothing is set. Keys do not contain it.
inline constexpr const char* kDefaultSetting = "default";

// Returns a string literal of Python.
std::string to_python_literal(const std::string& text);

struct DeclaredBackend : OwnBackend {
  SourceLocation where;
};

// The declarations of some files, in the order written.
struct Declarations {
  std::vector<DeclaredBackend> backends;
  std::vector<std::shared_ptr<const Setting>> settings;
};

// Adds the declarations of a file. Each name that is already taken is an error.
void read_declarations(const toml::table& file, const SourceText& source, Errors& errors,
                       Declarations& into);

// Returns the settings with these names, null for the default one. An error names near matches.
Expected<std::vector<std::shared_ptr<const Setting>>> find_settings(
    const std::vector<std::string>& names, const Declarations& declarations);

}  // namespace instr
