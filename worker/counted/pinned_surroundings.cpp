// Fixed answers to what a snippet asks about the machine and the user's session. The functions of
// the C library are replaced for the whole process. The name of the host is always pinned, since an
// interpreter keeps it; before the snippet's setup, all others ask the system.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

#include "worker/counted/run_snippet.h"
#include "worker/wire.h"

// Replaces readlink for the program's own path. Some libraries that LibTorch is linked with look
// for their data beside the program (GDCM, via OpenCV, in Debian), and keep its path on the heap.
// The length of that path moved all later allocations, and with them data misses of simulated
// caches by up to 1.5%.
extern "C" ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  const char own[] = "/proc/self/exe";  // a path of the program that has a fixed length
  if (strcmp(path, own) != 0) return syscall(SYS_readlink, path, buffer, size);
  size_t length = strlen(own) < size ? strlen(own) : size;
  memcpy(buffer, own, length);
  return static_cast<ssize_t>(length);
}

namespace instr {
namespace {

// Removes what only Valgrind's launcher needs from the environment, before LibTorch or an
// interpreter reads it: a snippet's calls of getenv() search the rest, and Python keeps a copy on
// the heap. The worker for Python is preloaded by the launcher, too.
__attribute__((constructor)) void hide_variables() {
  if (RUNNING_ON_VALGRIND != 0) unsetenv("VALGRIND_LIB");
}

constexpr char kHostName[] = "localhost";
constexpr rlim_t kOpenFiles = 1024;
constexpr rlim_t kStack = rlim_t{8} << 20;

template <std::size_t size>
void set(char (&field)[size], const char* text) {
  snprintf(field, size, "%s", text);
}

// A resource has no limit, whatever the user's shell sets, apart from those of each worker.
rlimit pinned_limit(int resource) {
  if (resource == RLIMIT_NOFILE) return {kOpenFiles, kOpenFiles};
  if (resource == RLIMIT_STACK) return {kStack, RLIM_INFINITY};
  if (resource == RLIMIT_CORE) return {0, 0};
  return {RLIM_INFINITY, RLIM_INFINITY};
}

// Replaces the snippet's folder, which is at the start of `path`, by the descriptor that is open
// there. Its real path depends on the user's folder of temporary files.
void hide_folder(char (&path)[PATH_MAX]) {
  char name[32];
  char folder[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", wire::kSnippetFolderFd);
  const ssize_t size = readlink(name, folder, sizeof folder);
  if (size <= 0 || strncmp(path, folder, static_cast<std::size_t>(size)) != 0) return;
  const char* rest = path + size;
  if (*rest != '\0' && *rest != '/') return;
  char hidden[PATH_MAX + sizeof name];
  const int length = snprintf(hidden, sizeof hidden, "%s%s", name, rest);
  if (length < PATH_MAX) memcpy(path, hidden, static_cast<std::size_t>(length) + 1);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace instr

// Declared by the system's headers, as functions that never throw.
extern "C" {

int uname(utsname* system) noexcept {
  if (syscall(SYS_uname, system) != 0) return -1;
  instr::set(system->nodename, instr::kHostName);
  instr::set(system->domainname, "(none)");
  instr::set(system->release, "6.1.0");
  instr::set(system->version, "#1 SMP");
  return 0;
}

int gethostname(char* name, std::size_t size) noexcept {
  utsname system;
  if (uname(&system) != 0) return -1;
  const std::size_t needed = strlen(system.nodename) + 1;
  memcpy(name, system.nodename, needed < size ? needed : size);
  if (needed <= size) return 0;
  errno = ENAMETOOLONG;
  return -1;
}

char* getcwd(char* to, std::size_t size) noexcept {
  char path[PATH_MAX];
  if (syscall(SYS_getcwd, path, sizeof path) < 0) return nullptr;
  if (instr::runs_snippet()) instr::hide_folder(path);
  const std::size_t needed = strlen(path) + 1;
  if (to != nullptr ? needed > size : size != 0 && needed > size) {
    errno = ERANGE;
    return nullptr;
  }
  if (to == nullptr) to = static_cast<char*>(malloc(size != 0 ? size : needed));
  return to == nullptr ? nullptr : static_cast<char*>(memcpy(to, path, needed));
}

int getrlimit(__rlimit_resource_t resource, rlimit* limit) noexcept {
  if (!instr::runs_snippet()) {
    return static_cast<int>(syscall(SYS_prlimit64, 0, resource, nullptr, limit));
  }
  *limit = instr::pinned_limit(static_cast<int>(resource));
  return 0;
}

int getrlimit64(__rlimit_resource_t resource, rlimit64* limit) noexcept {
  return getrlimit(resource, reinterpret_cast<rlimit*>(limit));
}

int get_nprocs() noexcept {
  static const auto ask = instr::next<int()>("get_nprocs");
  return instr::runs_snippet() ? instr::declared_threads() : ask();
}

int get_nprocs_conf() noexcept {
  static const auto ask = instr::next<int()>("get_nprocs_conf");
  return instr::runs_snippet() ? instr::declared_threads() : ask();
}

long sysconf(int name) noexcept {
  static const auto ask = instr::next<long(int)>("sysconf");
  if (!instr::runs_snippet()) return ask(name);
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) {
    return instr::declared_threads();
  }
  return name == _SC_OPEN_MAX ? static_cast<long>(instr::kOpenFiles) : ask(name);
}

}  // extern "C"
