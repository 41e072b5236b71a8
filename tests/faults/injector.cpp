// Preloaded into instr_bench by tests/proofs/faults: makes the n-th call of a class after main()
// began fail as the kernel would. Processes that instr_bench starts run without it.
//
//   INSTR_FAULT=class:n:errno   the n-th call (from 1) of that class fails with that errno; for the
//                               classes `kill` and `term`, that signal ends instr_bench instead
//   INSTR_FAULT_REPORT=FILE     the file gets a line with the call that failed, and at the end a
//                               line with the number of calls for each class
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

namespace {

enum Class { kWrite, kOpen, kName, kProcess, kMemory, kRead, kKill, kTerm, kClasses };
constexpr const char* kClassNames[kClasses] = {"write",  "open", "name", "process",
                                               "memory", "read", "kill", "term"};

// Shared with forked children, so that their calls before exec also count.
struct Shared {
  std::atomic<long> calls[kClasses];
};

Shared* shared = nullptr;  // null until main() begins
int faulty_class = -1;
long faulty_call = 0;
int faulty_errno = 0;
char report_path[4096];
pid_t owner = 0;

void report(const char* format, ...) {
  if (report_path[0] == '\0') return;
  char line[512];
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line, sizeof line, format, values);
  va_end(values);
  // System calls, since the functions of this file count calls.
  long file =
      syscall(SYS_openat, AT_FDCWD, report_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  syscall(SYS_write, file, line, static_cast<size_t>(length));
  syscall(SYS_close, file);
}

bool is_faulty(Class which, const char* call) {
  if (++shared->calls[which] != faulty_call || which != faulty_class) return false;
  report("failed: %s in %s\n", call, getpid() == owner ? "instr_bench" : "its child");
  return true;
}

// True if this call is to fail. A call whose effect other processes see may also kill instr_bench.
bool fails(Class which, const char* call) {
  if (shared == nullptr) return false;
  if (which == kWrite || which == kOpen || which == kName) {
    if (is_faulty(kKill, call)) kill(owner, SIGKILL);
    if (is_faulty(kTerm, call)) kill(owner, SIGTERM);
  }
  if (!is_faulty(which, call)) return false;
  errno = faulty_errno;
  return true;
}

void read_settings() {
  const char* fault = getenv("INSTR_FAULT");
  const char* path = getenv("INSTR_FAULT_REPORT");
  if (path != nullptr) snprintf(report_path, sizeof report_path, "%s", path);
  char name[16];
  if (fault == nullptr || sscanf(fault, "%15[a-z]:%ld:%d", name, &faulty_call, &faulty_errno) != 3)
    return;
  for (int i = 0; i < kClasses; ++i) {
    if (strcmp(name, kClassNames[i]) == 0) faulty_class = i;
  }
}

using Main = int (*)(int, char**, char**);
Main real_main;

int start_injecting(int argc, char** argv, char** environment) {
  read_settings();
  for (const char* name : {"INSTR_FAULT", "INSTR_FAULT_REPORT", "LD_PRELOAD"}) unsetenv(name);
  owner = getpid();
  shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return real_main(argc, argv, environment);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// Runs at the end of the process, by exit() or _exit().
extern "C" __attribute__((destructor)) void report_calls() {
  if (shared == nullptr || getpid() != owner) return;
  for (int i = 0; i < kClasses; ++i) {
    report("calls: %s %ld\n", kClassNames[i], shared->calls[i].load());
  }
}

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  auto real = next<int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*)>(
      "__libc_start_main");
  return real(start_injecting, argc, argv, init, fini, rtld_fini, stack_end);
}

// A function of the C library that fails by returning `failure` and setting errno.
#define WRAP(class, result, failure, name, parameters, arguments) \
  extern "C" result name parameters {                             \
    static const auto real = next<result(*) parameters>(#name);   \
    return fails(class, #name) ? failure : real arguments;        \
  }

// A function that has its last argument only with O_CREAT.
#define WRAP_OPEN(name, parameters, arguments)                                       \
  extern "C" int name parameters {                                                   \
    static const auto real = next<int(*) parameters>(#name);                         \
    va_list values;                                                                  \
    va_start(values, flags);                                                         \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(values, mode_t) : 0; \
    va_end(values);                                                                  \
    return fails(kOpen, #name) ? -1 : real arguments;                                \
  }

WRAP_OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, (int at, const char* path, int flags, ...), (at, path, flags, mode))
WRAP_OPEN(openat64, (int at, const char* path, int flags, ...), (at, path, flags, mode))
WRAP(kOpen, FILE*, nullptr, fopen, (const char* path, const char* mode), (path, mode))
WRAP(kOpen, FILE*, nullptr, fopen64, (const char* path, const char* mode), (path, mode))

WRAP(kWrite, ssize_t, -1, write, (int fd, const void* from, size_t size), (fd, from, size))
WRAP(kWrite, ssize_t, -1, pwrite, (int fd, const void* from, size_t size, off_t at),
     (fd, from, size, at))
WRAP(kWrite, ssize_t, -1, writev, (int fd, const iovec* from, int count), (fd, from, count))
WRAP(kWrite, ssize_t, -1, send, (int fd, const void* from, size_t size, int flags),
     (fd, from, size, flags))
WRAP(kWrite, ssize_t, -1, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))
WRAP(kWrite, size_t, 0, fwrite, (const void* from, size_t size, size_t count, FILE* to),
     (from, size, count, to))
WRAP(kWrite, int, EOF, fflush, (FILE * file), (file))
WRAP(kWrite, int, -1, ftruncate, (int fd, off_t size), (fd, size))
WRAP(kWrite, int, -1, ftruncate64, (int fd, off64_t size), (fd, size))
WRAP(kWrite, int, -1, fsync, (int fd), (fd))
WRAP(kWrite, ssize_t, -1, copy_file_range,
     (int in, off64_t* from, int out, off64_t* to, size_t size, unsigned flags),
     (in, from, out, to, size, flags))
WRAP(kWrite, ssize_t, -1, sendfile, (int out, int in, off_t* from, size_t size),
     (out, in, from, size))
WRAP(kWrite, ssize_t, -1, sendfile64, (int out, int in, off64_t* from, size_t size),
     (out, in, from, size))

WRAP(kName, int, -1, rename, (const char* from, const char* to), (from, to))
WRAP(kName, int, -1, renameat, (int from_at, const char* from, int to_at, const char* to),
     (from_at, from, to_at, to))
WRAP(kName, int, -1, link, (const char* from, const char* to), (from, to))
WRAP(kName, int, -1, symlink, (const char* from, const char* to), (from, to))
WRAP(kName, int, -1, mkdir, (const char* path, mode_t mode), (path, mode))
WRAP(kName, int, -1, mkdirat, (int at, const char* path, mode_t mode), (at, path, mode))
WRAP(kName, char*, nullptr, mkdtemp, (char* pattern), (pattern))
WRAP(kName, int, -1, mkstemp, (char* pattern), (pattern))
WRAP(kName, int, -1, flock, (int fd, int operation), (fd, operation))

WRAP(kProcess, pid_t, -1, fork, (), ())
WRAP(kProcess, int, -1, pipe, (int* ends), (ends))
WRAP(kProcess, int, -1, pipe2, (int* ends, int flags), (ends, flags))
WRAP(kProcess, int, -1, socketpair, (int domain, int type, int protocol, int* ends),
     (domain, type, protocol, ends))
WRAP(kProcess, int, -1, dup2, (int from, int to), (from, to))
WRAP(kProcess, int, -1, chdir, (const char* path), (path))
WRAP(kProcess, int, -1, execve, (const char* path, char* const* argv, char* const* environment),
     (path, argv, environment))
WRAP(kProcess, int, errno, pthread_create,
     (pthread_t * thread, const pthread_attr_t* with, void* (*body)(void*), void* argument),
     (thread, with, body, argument))

WRAP(kRead, ssize_t, -1, read, (int fd, void* to, size_t size), (fd, to, size))
WRAP(kRead, ssize_t, -1, readv, (int fd, const iovec* to, int count), (fd, to, count))
WRAP(kRead, ssize_t, -1, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags))
WRAP(kRead, ssize_t, -1, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))

// glibc's own names for these: dlsym() itself allocates.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return fails(kMemory, "malloc") ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return fails(kMemory, "calloc") ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  return fails(kMemory, "realloc") ? nullptr : __libc_realloc(block, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails(kMemory, "aligned_alloc") ? nullptr : __libc_memalign(alignment, size);
}

void _exit(int status) {
  report_calls();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
}
