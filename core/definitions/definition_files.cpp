#include "core/definitions/definition_files.h"

#include <algorithm>
#include <system_error>

namespace instr {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

void add_folder(const fs::path& folder, std::vector<fs::path>& files, Errors& errors) {
  std::error_code error;
  const std::size_t before = files.size();
  fs::recursive_directory_iterator at(folder, error), end;
  while (!error && at != end) {
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
    } else if (at->path().extension() == ".toml" && !at->is_directory(error)) {
      files.push_back(at->path());
    }
    at.increment(error);
  }
  if (error) {
    errors.push_back({{folder.string(), 0, 0},
                      "this folder cannot be read: " + error.message(),
                      "check the permissions of it and of the folders in it"});
  } else if (files.size() == before) {
    errors.push_back({{folder.string(), 0, 0},
                      "no definition file (*.toml) in this folder",
                      "name a folder that has one, or a file"});
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
}

}  // namespace

std::vector<fs::path> find_definition_files(const std::vector<fs::path>& paths, Errors& errors) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code ignored;  // anything else is read as a file, which gives the better message
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files, errors);
    } else {
      files.push_back(path);
    }
  }
  return files;
}

}  // namespace instr
