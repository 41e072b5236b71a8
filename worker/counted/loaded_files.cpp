#include "worker/counted/loaded_files.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include <string>

#include "worker/counted/run_snippet.h"
#include "worker/torch_side.h"
#include "worker/wire.h"

namespace instr {
namespace {

int add_name(dl_phdr_info* info, size_t, void* text) {
  *static_cast<std::string*>(text) += std::string(info->dlpi_name) + "\n";
  return 0;
}

// Returns the path without the descriptor by which the worker's own folder is named.
std::string resolved(const std::string& path) {
  const std::string folder = "/proc/self/fd/" + std::to_string(wire::kProgramFolderFd);
  if (!path.starts_with(folder + "/")) return path;
  char target[PATH_MAX];
  const ssize_t size = readlink(folder.c_str(), target, sizeof target);
  if (size < 0) return path;
  return std::string(target, static_cast<size_t>(size)) + path.substr(folder.size());
}

}  // namespace

bool write_loaded_files() {
  std::string names = torch_side::loaded_modules() + "\n";
  dl_iterate_phdr(add_name, &names);
  const std::string path =
      work_folder() + "/" + wire::kProfilePrefix + std::to_string(getpid()) + wire::kLoadedSuffix;
  FILE* file = fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  for (size_t at = 0; at < names.size();) {
    const size_t end = names.find('\n', at);
    const std::string name = resolved(names.substr(at, end - at));
    if (name.starts_with('/')) fprintf(file, "%s\n", name.c_str());
    at = end + 1;
  }
  return fclose(file) == 0;
}

}  // namespace instr
