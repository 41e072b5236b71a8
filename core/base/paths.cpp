#include "core/base/paths.h"

#include <fmt/format.h>

#include <cstdint>

namespace instr {

namespace {

constexpr std::size_t kMaxNameLength = 180;  // file systems allow 255 bytes

std::uint32_t fnv1a(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619U;
  return hash;
}

}  // namespace

std::string make_file_name(const std::string& text) {
  std::string name;
  bool is_plain = text.size() <= kMaxNameLength;
  for (char c : text.substr(0, kMaxNameLength)) {
    bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '=' || c == '+' || c == '-';
    name += is_kept ? c : c == '/' ? '.' : '_';
    is_plain = is_plain && (is_kept || c == '/');
  }
  return is_plain ? name : fmt::format("{}~{:08x}", name, fnv1a(text));
}

}  // namespace instr
