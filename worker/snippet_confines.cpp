#include "worker/snippet_confines.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "worker/cpu_watch.h"
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

constexpr int kMaxDepth = 16;  // the maximum depth of folders

// "VmData:	  123 kB"
uint64_t read_field(const char* status, const char* name) {
  const char* line = strstr(status, name);
  return line == nullptr ? 0 : strtoull(line + strlen(name), nullptr, 10) * 1024;
}

// Reads a file of a process in /proc; empty if that fails.
template <std::size_t size>
void read_of(pid_t pid, const char* name, char (&text)[size]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  if (!read_small(path, text)) text[0] = '\0';
}

uint64_t size_on_disk(const struct stat& file) {
  return static_cast<uint64_t>(file.st_blocks) * 512;
}

// The memory of other processes than the child. Pages that processes share since a fork are divided
// among them only if they seem to be too many: finding these out takes milliseconds.
uint64_t memory_of_others(const ProcessTree& tree, uint64_t allowed) {
  char text[4096];
  uint64_t sum = 0;
  for (int i = 1; i < tree.size(); ++i) {
    read_of(tree.process(i), "status", text);
    sum += read_field(text, "\nRssAnon:");
  }
  if (sum <= allowed) return sum;
  sum = 0;
  for (int i = 1; i < tree.size(); ++i) {
    read_of(tree.process(i), "smaps_rollup", text);
    sum += read_field(text, "\nPss:");
  }
  return sum;
}

// Adds up files that are in memory, each once.
class MemoryFiles {
 public:
  // Adds those that a process has open.
  void add_files_of(pid_t pid) {
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    visit_numbers(folder, [this, &folder](int number) {
      char path[96];
      snprintf(path, sizeof path, "%s/%d", folder, number);
      struct stat file;
      struct statfs system;
      if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || statfs(path, &system) != 0) return;
      if (system.f_type == TMPFS_MAGIC && is_new(file.st_ino)) bytes_ += size_on_disk(file);
    });
  }

  uint64_t bytes() const { return bytes_; }

 private:
  bool is_new(ino_t file) {
    ino_t* const end = known_ + count_;
    if (std::find(known_, end, file) != end) return false;
    if (count_ < kMaxKnown) known_[count_++] = file;
    return true;
  }

  static constexpr int kMaxKnown = 1024;
  ino_t known_[kMaxKnown];
  int count_ = 0;
  uint64_t bytes_ = 0;
};

uint64_t size_of_files(int folder, int depth) {
  uint64_t sum = 0;
  alignas(dirent64) char entries[4096];
  for (ssize_t size; (size = getdents64(folder, entries, sizeof entries)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      struct stat file;
      const bool is_itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
      if (is_itself || fstatat(folder, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) continue;
      sum += size_on_disk(file);
      if (!S_ISDIR(file.st_mode) || depth == kMaxDepth) continue;
      const int inner =
          openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (inner < 0) continue;
      sum += size_of_files(inner, depth + 1);
      close(inner);
    }
  }
  return sum;
}

// Opens the folder; -1 if that fails. Does not use the heap.
int open_snippet_folder() {
  char path[64];
  write_path(path);
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

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

void remove_snippet_folder() {
  constexpr int kMaxOpen = 16;
  const std::string path = folder_path();
  unlink((path + "/" + wire::kLibraryLink).c_str());
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return;
  nftw(path.c_str(), remove_entry, kMaxOpen, FTW_DEPTH | FTW_PHYS);
}

uint64_t memory_taken_by(pid_t pid) {
  char text[4096];
  read_of(pid, "status", text);
  return read_field(text, "\nVmData:") + read_field(text, "\nRssShmem:");
}

void limit_file_size(uint64_t bytes) {
  if (bytes == 0) return;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

Excess find_excess(const ProcessTree& tree, const SnippetLimits& limits) {
  if (limits.bytes == 0 || limits.before == 0) return Excess::kNone;
  const uint64_t allowed = limits.before + limits.bytes + limits.beside;
  MemoryFiles files;
  for (int i = 0; i < tree.size(); ++i) files.add_files_of(tree.process(i));
  const uint64_t own = memory_taken_by(tree.process(0)) + files.bytes();
  if (own > allowed || own + memory_of_others(tree, allowed - own) > allowed) {
    return Excess::kMemory;
  }
  const int folder = open_snippet_folder();
  if (folder < 0) return Excess::kNone;
  const uint64_t written = size_of_files(folder, 0);
  close(folder);
  return written > limits.bytes ? Excess::kFiles : Excess::kNone;
}

std::string describe_excess(Excess excess, uint64_t limit_bytes) {
  const std::string limit = "its limit of " + std::to_string(limit_bytes >> 20) + " MiB";
  if (excess == Excess::kHeap) return "the snippet asked the heap for more memory than " + limit;
  if (excess == Excess::kFiles) return "the snippet's files in its folder are larger than " + limit;
  return "the snippet took more memory than " + limit +
         ", mappings, stacks, shared memory and the processes that it started included";
}

}  // namespace instr
