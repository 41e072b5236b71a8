// Preloaded into an interpreter whose import is counted. import_modules.py calls nice(), which no
// import does, to say where it is: 4n when it begins to import module n, 4n + 1 when that has
// ended, 2 when it begins something that is not to be counted, such as a search, and 3 when that
// has ended. Is linked with no library: the interpreter has loaded the C library.
#include <fcntl.h>
#include <sys/stat.h>
#include <valgrind/callgrind.h>

namespace {

int uncounted = 1;  // nested parts that are not counted; before the import, all is such a part

void begin_uncounted() {
  if (uncounted++ == 0) CALLGRIND_TOGGLE_COLLECT;
}

void end_uncounted() {
  if (--uncounted == 0) CALLGRIND_TOGGLE_COLLECT;
}

}  // namespace

extern "C" int nice(int event) {
  if ((event & 3) == 2) {
    begin_uncounted();
  } else if ((event & 3) == 3) {
    end_uncounted();
  } else if (uncounted == 0) {
    CALLGRIND_TOGGLE_COLLECT;
    VALGRIND_PRINTF("mark %d\n", event);
    VALGRIND_MONITOR_COMMAND("status internal");
    CALLGRIND_TOGGLE_COLLECT;
  }
  return 0;
}

namespace {

// Returns true for a path below the folder through which modules are found.
bool is_at_home(const char* path) {
  for (const char* home = "/proc/self"; *home != 0; ++home, ++path) {
    if (*path != *home) return false;
  }
  return true;
}

}  // namespace

// The other names of these functions, with which an interpreter may be linked. Owners and numbers
// of files are pinned (counted/pinned_files.cpp).
extern "C" {

// Follows the links below /proc/self: otherwise Python's realpath() would return a path that
// contains the number of this process and the user's folders.
int lstat64(const char* path, struct stat64* file) noexcept {
  return fstatat64(AT_FDCWD, path, file, is_at_home(path) ? 0 : AT_SYMLINK_NOFOLLOW);
}

int __xstat64(int, const char* path, struct stat64* file) noexcept { return stat64(path, file); }
int __lxstat64(int, const char* path, struct stat64* file) noexcept { return lstat64(path, file); }
int __fxstat64(int, int descriptor, struct stat64* file) noexcept {
  return fstat64(descriptor, file);
}

}  // extern "C"
