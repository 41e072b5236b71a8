#include "core/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace instr {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// flock(2) cannot wait for a stop request as well.
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr std::chrono::seconds kUnsaid{1};

tl::unexpected<Error> cannot(const char* what, const fs::path& file) {
  return fail(std::string("cannot ") + what + " '" + file.string() + "': " + std::strerror(errno));
}

}  // namespace

Expected<std::optional<FileLock>> FileLock::attempt(const fs::path& file, LockKind kind) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return cannot("open", file);
  int operation = kind == LockKind::kShared ? LOCK_SH : LOCK_EX;
  while (::flock(fd.get(), operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) return cannot("lock", file);
  }
  return FileLock(std::move(fd));
}

Expected<FileLock> FileLock::wait(const fs::path& file, LockKind kind, const Waiting& waiting) {
  const auto begin = Clock::now();
  bool said = false;
  for (;;) {
    auto lock = attempt(file, kind);
    if (!lock) return tl::unexpected(lock.error());
    if (*lock) return std::move(**lock);
    if (waiting.stop.stop_requested()) return fail("interrupted");
    if (!said && waiting.say && Clock::now() - begin > kUnsaid) {
      waiting.say();
      said = true;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace instr
