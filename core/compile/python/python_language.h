// Snippets in Python.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/compile/language_support.h"

namespace instr {

// `command`: the interpreter that the user named (--python); nothing: the default (find_python).
std::unique_ptr<LanguageSupport> make_python_language(const std::optional<std::string>& command,
                                                      const CompileOptions& options, Cache& cache);

}  // namespace instr
