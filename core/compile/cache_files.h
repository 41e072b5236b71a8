// What the cache does with files: advisory locks, checksums, small texts. All of it is on folders
// that belong to this user alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

enum class LockKind { kShared, kExclusive };

// Holds flock(2) on a file, made if missing, until destroyed. Locks of two objects exclude each
// other within a process as between processes.
class FileLock {
 public:
  // Waits for the lock.
  static Expected<FileLock> wait(const std::filesystem::path& file, LockKind kind);
  // Nothing where another holds it, or the file cannot be opened.
  static std::optional<FileLock> attempt(const std::filesystem::path& file, LockKind kind);

  int descriptor() const { return fd_.get(); }

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Hash of a file's content, as content_hash; nothing where it cannot be read.
std::optional<std::string> file_hash(const std::filesystem::path& file);

// The whole of a small file; nothing where it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

Expected<void> write_text(const std::filesystem::path& file, std::string_view text);

// Writes `.sum` into the folder: size and hash of each file in it.
Expected<void> seal_folder(const std::filesystem::path& folder);

// Whether the folder's files are those that were sealed.
bool is_whole(const std::filesystem::path& folder);

// Notes in `.sum`'s modification time that the folder was used now.
void touch_folder(const std::filesystem::path& folder);

struct FolderUse {
  std::filesystem::path folder;
  std::filesystem::file_time_type last_use;
  std::uint64_t bytes = 0;
};
FolderUse folder_use(const std::filesystem::path& folder);

}  // namespace instr
