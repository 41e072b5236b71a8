#include <fmt/format.h>

#include <system_error>

#include "core/base/checkout_guard.h"
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
  build->include_dirs = read_paths(read, "include_dirs", source);
  build->sources = read_paths(read, "sources", source);
  build->libraries = read_strings(read, "libraries");
  build->library_dirs = read_paths(read, "library_dirs", source);
  build->defines = read_defines(read, source);
  build->flags = read_strings(read, "flags");
  const std::vector<Text> written = read.texts("sources");
  for (std::size_t i = 0; i < written.size(); ++i) {
    std::error_code error;
    if (fs::is_regular_file(build->sources[i], error)) continue;
    read.add_error(written[i].where,
                   fmt::format("there is no source file `{}`", build->sources[i].string()),
                   "paths in [build] are relative to the folder of this file");
  }
  return build;
}

}  // namespace instr
