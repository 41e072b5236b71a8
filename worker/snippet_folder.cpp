#include "worker/snippet_folder.h"

#include <errno.h>
#include <fcntl.h>
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

// Writes the path of this process's folder: a single one, since it measures a single snippet at a
// time.
void write_path(char (&path)[64]) {
  snprintf(path, sizeof path, "/proc/self/fd/%d/snippet.%010d", wire::kWorkFolderFd, getpid());
}

std::string folder_path() {
  char path[64];
  write_path(path);
  return path;
}

int remove_entry(const char* path, const struct stat*, int, FTW*) { return remove(path); }

std::string failed_to(const char* what) { return std::string(what) + ": " + strerror(errno); }

}  // namespace

std::string enter_snippet_folder() {
  remove_snippet_folder();
  const std::string path = folder_path();
  if (mkdir(path.c_str(), 0700) != 0) return failed_to("cannot make a folder to run in");
  if (chdir(path.c_str()) != 0) return failed_to("cannot enter the folder to run in");
  const int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return failed_to("cannot open the folder to run in");
  dup2(folder, wire::kSnippetFolderFd);
  close(folder);
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

int open_snippet_folder() {
  char path[64];
  write_path(path);
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void remove_snippet_folder() {
  constexpr int kMaxOpen = 16;
  const std::string path = folder_path();
  unlink((path + "/" + wire::kLibraryLink).c_str());
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return;
  nftw(path.c_str(), remove_entry, kMaxOpen, FTW_DEPTH | FTW_PHYS);
}

}  // namespace instr
