// Advisory locks between processes, and waiting for them: never silently, always interruptible.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

enum class LockKind { kShared, kExclusive };

// How to wait for a lock that another process may hold indefinitely.
struct Waiting {
  std::stop_token stop = {};       // ends the wait
  std::function<void()> say = {};  // called once when the wait has taken a second
};

// Holds flock(2) on a file, which is created if missing, or on a folder, until destroyed. Two
// objects exclude each other within one process as between processes.
class FileLock {
 public:
  // Returns nothing if the lock is held elsewhere; an error if the file cannot be opened, or its
  // file system has no locks.
  static Expected<std::optional<FileLock>> attempt(const fs::path& file, LockKind kind);
  // Returns an error also if the wait was ended.
  static Expected<FileLock> wait(const fs::path& file, LockKind kind, const Waiting& waiting);
  // Locks the folder itself, for when no file may be created in it.
  static Expected<FileLock> wait_for_folder(const fs::path& folder, LockKind kind,
                                            const Waiting& waiting);

 private:
  static Expected<std::optional<FileLock>> take(const fs::path& path, int flags, LockKind kind);
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace instr
