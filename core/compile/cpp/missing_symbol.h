// Explains missing functions that the linker or the loader reports.
#pragma once

#include <string>
#include <string_view>

#include "core/definitions/snippet.h"

namespace instr {

// Explains that one of these libraries has `function`, as the linker names it, with the other
// layout of std::string: "libmy.so was built with _GLIBCXX_USE_CXX11_ABI=0, …". Empty if no library
// has it.
std::string find_string_layout_reason(const std::string& function, const BuildOptions& build);

// Rewrites the loader's message with readable names: "libt.so: undefined symbol:
// c10::f(std::string)"; adds a possible reason if LibTorch lacks the function.
std::string explain_loader_message(std::string_view message);

}  // namespace instr
