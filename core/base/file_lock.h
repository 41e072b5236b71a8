// Advisory locks between processes, and waiting for them: never silently, never without an end.
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

// How to wait for what another process holds for as long as it likes.
struct Waiting {
  std::stop_token stop = {};       // ends the wait
  std::function<void()> say = {};  // called once if it takes more than a second
};

// Holds flock(2) on a file, made if missing, or on a folder until destroyed. Locks of two objects
// exclude each other within a process as between processes.
class FileLock {
 public:
  // Nothing if another holds it. An error if the file cannot be opened, or its file system
  // has no locks.
  static Expected<std::optional<FileLock>> attempt(const std::filesystem::path& file,
                                                   LockKind kind);
  // An error also if the wait was ended.
  static Expected<FileLock> wait(const std::filesystem::path& file, LockKind kind,
                                 const Waiting& waiting);
  // The folder itself, if no file may be made in it for this.
  static Expected<FileLock> wait_for_folder(const std::filesystem::path& folder, LockKind kind,
                                            const Waiting& waiting);

 private:
  static Expected<std::optional<FileLock>> take(const std::filesystem::path& path, int flags,
                                                LockKind kind);
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace instr
