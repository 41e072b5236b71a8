#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/base/checkout_guard.h"
#include "core/base/glob.h"
#include "core/definitions/read_benchmark.h"
#include "core/definitions/signature.h"

namespace instr {
namespace {

std::vector<fs::path> read_paths(const TableReader& read, std::string_view key,
                                 const SourceText& source) {
  std::vector<fs::path> result;
  for (const Text& path : read.texts(key)) {
    if (path.empty()) {
      read.add_error(path.where, fmt::format("`{}` has an empty path", key),
                     "name a file or folder");
    }
    result.push_back(in_measured_tree(source.beside(path.code)));
  }
  return result;
}

// Reads the paths of source files, in their order, each once; those that a path with wildcards
// matches are sorted.
std::vector<fs::path> read_sources(const TableReader& read, const SourceText& source) {
  constexpr const char* kRelative = "paths in [build] are relative to the folder of this file";
  std::vector<fs::path> files;
  const auto add = [&files](const fs::path& file) {
    const fs::path measured = in_measured_tree(file);
    if (std::ranges::find(files, measured) == files.end()) files.push_back(measured);
  };
  const std::vector<Text> written = read.texts("sources");
  const std::vector<fs::path> paths = read_paths(read, "sources", source);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::error_code error;
    const bool is_there = fs::is_regular_file(paths[i], error);
    const auto matches =
        is_there || !has_wildcard(paths[i]) ? std::vector<fs::path>{} : find_matches(paths[i]);
    if (is_there) add(paths[i]);
    for (const fs::path& match : matches) add(match);
    if (is_there || !matches.empty()) continue;
    read.add_error(written[i].where,
                   has_wildcard(paths[i])
                       ? fmt::format("no file matches `{}`", paths[i].string())
                       : fmt::format("there is no source file `{}`", paths[i].string()),
                   kRelative);
  }
  return files;
}

// Returns the top folder of the repository that contains this folder, else the folder itself.
fs::path find_root(const fs::path& folder) {
  std::error_code error;
  for (fs::path top = folder; top.has_relative_path(); top = top.parent_path()) {
    if (fs::exists(top / ".git", error)) return top;
  }
  return folder.has_relative_path() ? folder : fs::path();
}

std::vector<std::string> read_strings(const TableReader& read, std::string_view key) {
  for (const Text& text : read.texts(key)) {
    if (text.empty()) {
      read.add_error(text.where, fmt::format("`{}` has an empty string", key), "leave it out");
    }
  }
  return read.strings(key);
}

std::vector<std::pair<std::string, std::string>> read_defines(const TableReader& read,
                                                              const SourceText& source) {
  std::vector<std::pair<std::string, std::string>> result;
  const toml::table* table = read.table("defines");
  if (!table) return result;
  for (const TomlEntry& entry : list_entries(*table, source)) {
    if (!is_identifier(entry.name)) {
      read.add_error(entry.where, fmt::format("`{}` is not a valid macro name", entry.name),
                     "use letters, digits and _, and do not begin with a digit");
    }
    const auto* integer = entry.value->as_integer();
    result.emplace_back(entry.name,
                        integer ? std::to_string(integer->get()) : entry.value->as_string()->get());
  }
  return result;
}

}  // namespace

std::shared_ptr<const BuildOptions> read_build(const toml::table& table, const SourceText& source,
                                               Errors& errors) {
  const TableReader read(table, "[build]", build_keys(), source, errors);
  auto build = std::make_shared<BuildOptions>();
  build->where = toml_location(table, source);
  build->root = in_measured_tree(find_root(source.beside("x").parent_path()));
  build->include_dirs = read_paths(read, "include_dirs", source);
  build->sources = read_sources(read, source);
  build->libraries = read_strings(read, "libraries");
  build->library_dirs = read_paths(read, "library_dirs", source);
  build->defines = read_defines(read, source);
  build->flags = read_strings(read, "flags");
  return build;
}

}  // namespace instr
