#include "core/base/glob.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace fs = std::filesystem;

namespace instr {

namespace {

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

bool has_wildcard(const fs::path& path) { return path.string().find('*') != std::string::npos; }

std::vector<fs::path> find_matches(const fs::path& pattern) {
  Parts parts;
  for (const fs::path& part : pattern.relative_path()) parts.push_back(part.string());
  std::set<fs::path> files;
  add_matches(pattern.root_path(), parts, 0, files);
  return {files.begin(), files.end()};
}

}  // namespace instr
