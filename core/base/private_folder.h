// A temporary folder that only this user can access. It is removed with its owner or, if the
// process was killed, by the next process that makes one there. A lock tells whether the owner
// lives, since containers that share a folder have the same process numbers.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/base/file_lock.h"

namespace instr {

class PrivateFolder {
 public:
  // Makes a folder (mode 0700) in `parent`, or in $TMPDIR (else /tmp) if that is empty. Removes the
  // folders that killed runs of this user left there.
  static Expected<PrivateFolder> make(const fs::path& parent = {});

  // Makes a hidden folder for files that are then moved into `parent`; no other process or
  // container uses the same names. The error is an errno.
  static tl::expected<PrivateFolder, int> make_in(const fs::path& parent);

  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder();

  const fs::path& path() const { return path_; }

  // Returns true if the path is in a folder that make() made, even if it has been removed.
  static bool contains(const fs::path& path);

  // Removes the folders of this process, just before an exit that runs no destructors.
  static void remove_all() noexcept;

 private:
  static tl::expected<PrivateFolder, int> make_named(const fs::path& parent, const char* prefix);
  PrivateFolder(fs::path path, std::optional<FileLock> lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  void remove() noexcept;

  fs::path path_;
  std::optional<FileLock> lock_;  // a lock on a file in the folder, held while its owner lives
};

// Checks that other users cannot replace a folder from which code is run.

// Checks each folder and link from the root to `path` (absolute), through symbolic links: it must
// belong to this user, to root or to the owner of `/`, and no folder may be writable for others,
// except with the sticky bit (/tmp), or for a group other than this user's private group. Stops at
// the first component that does not exist.
Expected<void> check_trusted(const fs::path& path);

}  // namespace instr
