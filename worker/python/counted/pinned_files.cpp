// The system's answers about users and files, for Python: it has an object for each number up to
// 256, and a larger number takes memory, which moves later blocks. Users, owners, devices and inode
// numbers would make counts depend on the user and on the file system.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace instr {
namespace {

// Numbers between 257 and 2^30 all take the same memory.
template <typename Number>
Number medium(Number number) {
  return 1'000 + number % 1'000'000'000;
}

int pin(struct stat64* file, long result) {
  if (result != 0) return -1;
  file->st_uid = 0;
  file->st_gid = 0;
  file->st_dev = medium(file->st_dev);
  file->st_ino = medium(file->st_ino);
  return 0;
}

}  // namespace
}  // namespace instr

// The names that CPython is linked with, declared by the system's headers as functions that never
// throw.
extern "C" {

int fstatat64(int folder, const char* path, struct stat64* file, int flags) noexcept {
  return instr::pin(file, syscall(SYS_newfstatat, folder, path, file, flags));
}

int stat64(const char* path, struct stat64* file) noexcept {
  return fstatat64(AT_FDCWD, path, file, 0);
}

// Weak, since import_marks.cpp has another one.
__attribute__((weak)) int lstat64(const char* path, struct stat64* file) noexcept {
  return fstatat64(AT_FDCWD, path, file, AT_SYMLINK_NOFOLLOW);
}

int fstat64(int descriptor, struct stat64* file) noexcept {
  return instr::pin(file, syscall(SYS_fstat, descriptor, file));
}

uid_t getuid() noexcept { return 0; }
uid_t geteuid() noexcept { return 0; }
gid_t getgid() noexcept { return 0; }
gid_t getegid() noexcept { return 0; }

}  // extern "C"
