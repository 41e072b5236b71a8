// Snippets in C++.
#pragma once

#include <memory>

#include "core/compile/language_support.h"

namespace instr {

std::unique_ptr<LanguageSupport> make_cpp_language(const CompileOptions& options, Cache& cache);

}  // namespace instr
