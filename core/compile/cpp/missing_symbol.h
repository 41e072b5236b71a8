// Messages about functions that the linker or the loader did not find.
#pragma once

#include <string>
#include <string_view>

#include "core/definitions/snippet.h"

namespace instr {

// The reason that one of these libraries has `function`, as the linker names it, but with the other
// layout of std::string: "libmy.so has it for _GLIBCXX_USE_CXX11_ABI=0, …". Empty if none has.
std::string find_string_layout_reason(const std::string& function, const BuildOptions& build);

// The loader's message with readable names: "libt.so: undefined symbol: c10::f(std::string)", and,
// where LibTorch lacks it, what may be the reason.
std::string explain_loader_message(std::string_view message);

}  // namespace instr
