#include "worker/snippet_folder.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/wire.h"

namespace instr {
namespace {

std::string path_in(int folder, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(folder) + "/" + name;
}

// A process has a single folder, since it measures a single snippet at a time.
std::string folder_path() {
  char name[32];
  snprintf(name, sizeof name, "snippet.%010d", getpid());
  return path_in(wire::kWorkFolderFd, name);
}

int remove_entry(const char* path, const struct stat*, int, FTW*) { return remove(path); }

std::string failed_to(const char* what) { return std::string(what) + ": " + strerror(errno); }

}  // namespace

std::string enter_snippet_folder() {
  remove_snippet_folder();
  const std::string path = folder_path();
  if (mkdir(path.c_str(), 0700) != 0) return failed_to("cannot make a folder to run in");
  if (chdir(path.c_str()) != 0) return failed_to("cannot enter the folder to run in");
  // By name: the snippet may close descriptors. Without such a link in the worker's folder, none is
  // needed here.
  char libraries[PATH_MAX];
  const std::string link = path_in(wire::kProgramFolderFd, wire::kLibraryLink);
  const ssize_t size = readlink(link.c_str(), libraries, sizeof libraries - 1);
  if (size <= 0) return "";
  libraries[size] = '\0';
  if (symlink(libraries, wire::kLibraryLink) != 0)
    return failed_to("cannot link LibTorch's folder");
  return "";
}

void remove_snippet_folder() {
  constexpr int kMaxOpen = 16;
  const std::string path = folder_path();
  unlink((path + "/" + wire::kLibraryLink).c_str());
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return;
  nftw(path.c_str(), remove_entry, kMaxOpen, FTW_DEPTH | FTW_PHYS);
}

}  // namespace instr
