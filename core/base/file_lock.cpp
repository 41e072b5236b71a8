#include "core/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

// flock(2) cannot wait for a stop request as well.
constexpr std::chrono::milliseconds kLockRetryInterval{20};
constexpr std::chrono::seconds kSilence{1};

tl::unexpected<Error> fail_to(const char* what, const fs::path& file) {
  return fail(std::string("cannot ") + what + " '" + file.string() + "': " + std::strerror(errno));
}

// Tries until the lock is acquired, the wait is ended, or acquiring it fails.
template <class Attempt>
Expected<FileLock> wait_for(const Attempt& attempt, const Waiting& waiting) {
  const auto begin = Clock::now();
  bool said = false;
  for (;;) {
    TRY_ASSIGN(std::optional<FileLock> lock, attempt());
    if (lock) return *std::move(lock);
    if (waiting.stop.stop_requested()) return fail("interrupted");
    if (!said && waiting.say && Clock::now() - begin > kSilence) {
      waiting.say();
      said = true;
    }
    std::this_thread::sleep_for(kLockRetryInterval);
  }
}

}  // namespace

Expected<std::optional<FileLock>> FileLock::take(const fs::path& path, int flags, LockKind kind) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd) return fail_to("open", path);
  int operation = kind == LockKind::kShared ? LOCK_SH : LOCK_EX;
  while (::flock(fd.get(), operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) return fail_to("lock", path);
  }
  return FileLock(std::move(fd));
}

Expected<std::optional<FileLock>> FileLock::attempt(const fs::path& file, LockKind kind) {
  return take(file, O_RDWR | O_CREAT | O_NOFOLLOW, kind);
}

Expected<FileLock> FileLock::wait(const fs::path& file, LockKind kind, const Waiting& waiting) {
  return wait_for([&] { return attempt(file, kind); }, waiting);
}

Expected<FileLock> FileLock::wait_for_folder(const fs::path& folder, LockKind kind,
                                             const Waiting& waiting) {
  return wait_for([&] { return take(folder, O_RDONLY | O_DIRECTORY, kind); }, waiting);
}

}  // namespace instr
