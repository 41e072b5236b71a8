#include "core/compile/cpp/missing_symbol.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/compile/elf.h"

namespace instr {

namespace {

// Returns the _GLIBCXX_USE_CXX11_ABI that a function was compiled with; -1 if it takes no
// std::string.
int find_string_layout(std::string_view function) {
  for (const char* mark : {"std::__cxx11::basic_string<", "[abi:cxx11]"}) {
    if (function.find(mark) != std::string_view::npos) return 1;
  }
  const bool is_old = function.find("std::string") != std::string_view::npos ||
                      function.find("std::basic_string<char") != std::string_view::npos;
  return is_old ? 0 : -1;
}

// "my::size(int)" -> "N2my4sizeE", the start of the mangled name for all parameters. Empty for
// templates and operators.
std::string mangle_name(std::string_view function) {
  const std::string_view name = function.substr(0, function.find('('));
  if (name.find_first_of("<> ~") != std::string_view::npos) return "";
  std::string parts;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= name.size(); ++count) {
    const std::size_t end = std::min(name.find("::", at), name.size());
    parts += fmt::format("{}{}", end - at, name.substr(at, end - at));
    at = end + 2;
  }
  return count > 1 ? "N" + parts + "E" : parts;
}

std::string demangle(const std::string& symbol) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return name ? name.get() : symbol;
}

bool is_of_libtorch(std::string_view function) {
  return function.starts_with("c10::") || function.starts_with("at::") ||
         function.starts_with("torch::");
}

}  // namespace

int read_string_layout(const LibTorch& libtorch) {
  for (const std::string& define : libtorch.defines) {
    if (define == "_GLIBCXX_USE_CXX11_ABI=0") return 0;
    if (define == "_GLIBCXX_USE_CXX11_ABI=1") return 1;
  }
  return -1;
}

std::string find_string_layout_reason(const std::string& function, const LinkedCode& code) {
  constexpr const char* kOther =
      "remove the flag, the entry of `defines` or the #define that sets it";
  const int wanted = find_string_layout(function);
  const std::string name = mangle_name(function);
  if (wanted < 0) return "";
  if (is_of_libtorch(function) && code.libtorch_layout == 1 - wanted) {
    return fmt::format(
        "this code is compiled with _GLIBCXX_USE_CXX11_ABI={}, but LibTorch with {}: {}", wanted,
        1 - wanted, kOther);
  }
  if (name.empty() || code.build == nullptr) return "";
  if (code.sources && file_contains(*code.sources, "_Z" + name)) {
    return fmt::format(
        "the `sources` of [build] are compiled with _GLIBCXX_USE_CXX11_ABI={}, but LibTorch and so "
        "the snippets with {}: {}",
        1 - wanted, wanted, kOther);
  }
  for (const auto& folder : code.build->library_dirs) {
    for (const std::string& library : code.build->libraries) {
      const std::string file = "lib" + library + ".so";
      if (!file_contains(folder / file, "_Z" + name)) continue;
      return fmt::format(
          "{} was built with _GLIBCXX_USE_CXX11_ABI={}, but LibTorch and so the snippets with {}: "
          "build it with -D_GLIBCXX_USE_CXX11_ABI={}",
          file, 1 - wanted, wanted, wanted);
    }
  }
  return "";
}

std::string explain_loader_message(std::string_view message) {
  constexpr std::string_view kMark = "undefined symbol: ";
  const std::size_t mark = message.find(kMark);
  if (mark == std::string_view::npos) return std::string(message);
  const std::size_t begin = mark + kMark.size();
  const std::size_t end = std::min(message.find_first_of(" \n(", begin), message.size());
  const std::string function = demangle(std::string(message.substr(begin, end - begin)));
  std::string text = fmt::format("{}{}{}", message.substr(0, begin), function, message.substr(end));
  const int layout = find_string_layout(function);
  if (!is_of_libtorch(function) || layout < 0) return text;
  return text + fmt::format(
                    ": that library was built with _GLIBCXX_USE_CXX11_ABI={}; if this "
                    "LibTorch was built with {}, build it so, too",
                    layout, 1 - layout);
}

}  // namespace instr
