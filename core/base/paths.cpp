#include "core/base/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace fs = std::filesystem;

namespace instr {

namespace {

constexpr std::size_t kMaxNameLength = 180;  // file systems allow 255 bytes

std::uint32_t fnv1a(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619U;
  return hash;
}

using Parts = std::vector<std::string>;

bool is_match(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*') {
    return !name.empty() && name.front() == pattern.front() &&
           is_match(name.substr(1), pattern.substr(1));
  }
  pattern.remove_prefix(std::min(pattern.find_first_not_of('*'), pattern.size()));
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (is_match(name.substr(i), pattern)) return true;
  }
  return false;
}

std::vector<fs::path> list_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with('.')) entries.push_back(it->path());
  }
  return entries;
}

// Adds the files in `place` that the parts from `at` on match.
void add_matches(const fs::path& place, const Parts& parts, std::size_t at,
                 std::set<fs::path>& files) {
  std::error_code error;
  if (at == parts.size()) {
    if (fs::is_regular_file(place, error)) files.insert(place);
  } else if (!has_wildcard(parts[at])) {
    add_matches(place / parts[at], parts, at + 1, files);
  } else if (parts[at] == "**") {
    add_matches(place, parts, at + 1, files);
    for (const fs::path& entry : list_entries(place)) {
      const bool is_folder = fs::is_directory(fs::symlink_status(entry, error));
      if (is_folder) add_matches(entry, parts, at, files);
    }
  } else {
    for (const fs::path& entry : list_entries(place)) {
      if (is_match(entry.filename().string(), parts[at])) add_matches(entry, parts, at + 1, files);
    }
  }
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

bool has_wildcard(const fs::path& path) { return path.string().find('*') != std::string::npos; }

std::vector<fs::path> find_matches(const fs::path& pattern) {
  Parts parts;
  for (const fs::path& part : pattern.relative_path()) parts.push_back(part.string());
  std::set<fs::path> files;
  add_matches(pattern.root_path(), parts, 0, files);
  return {files.begin(), files.end()};
}

}  // namespace instr
