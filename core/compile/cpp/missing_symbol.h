// Explains missing functions that the linker or the loader reports.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/compile/libtorch.h"
#include "core/definitions/snippet.h"

namespace instr {

// The code that a snippet is linked with, besides the system's.
struct LinkedCode {
  const BuildOptions* build = nullptr;
  std::optional<std::filesystem::path> sources = {};  // the library made of [build].sources
  int libtorch_layout = -1;  // LibTorch's _GLIBCXX_USE_CXX11_ABI; -1: not known
};

// Returns LinkedCode::libtorch_layout.
int read_string_layout(const LibTorch& libtorch);

// Explains that this code has `function`, as the linker names it, with the other layout of
// std::string: "libmy.so was built with _GLIBCXX_USE_CXX11_ABI=0, …". Empty if none has it.
std::string find_string_layout_reason(const std::string& function, const LinkedCode& code);

// Rewrites the loader's message with readable names: "libt.so: undefined symbol:
// c10::f(std::string)"; adds a possible reason if LibTorch lacks the function.
std::string explain_loader_message(std::string_view message);

}  // namespace instr
