// Shared by the tests of definitions: files in a folder of their own, errors as text.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/definitions/expand.h"
#include "core/definitions/load.h"

namespace instr {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "instr_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    // Some file systems write a file out at once if it replaces its old content: slow.
    std::filesystem::remove(file);
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

// The errors, a line each, with `folder` and its slash taken off the paths.
inline std::string error_lines(const Errors& errors, const std::filesystem::path& folder) {
  std::string lines;
  for (const Error& error : errors) lines += to_string(error) + "\n";
  const std::string prefix = folder.string() + "/";
  for (std::size_t at = lines.find(prefix); at != std::string::npos; at = lines.find(prefix, at)) {
    lines.erase(at, prefix.size());
  }
  return lines;
}

// The errors of loading and expanding; empty if there are none.
inline std::string load_errors(const std::vector<std::filesystem::path>& paths,
                               const std::filesystem::path& folder) {
  const auto definitions = load_definitions(paths);
  if (!definitions) return error_lines(definitions.error(), folder);
  const auto variants = expand(*definitions);
  return variants ? "" : error_lines(variants.error(), folder);
}

// Errors of one file with this text, named a.toml.
inline std::string errors_of(const std::string& text) {
  const TempFolder folder;
  return load_errors({folder.write("a.toml", text)}, folder.path());
}

// The definitions of one file with this text; none, and a failed test, if it has errors.
inline std::vector<Definition> definitions_of(const std::string& text) {
  const TempFolder folder;
  auto definitions = load_definitions({folder.write("a.toml", text)});
  if (definitions) return *std::move(definitions);
  ADD_FAILURE() << error_lines(definitions.error(), folder.path());
  return {};
}

}  // namespace instr
