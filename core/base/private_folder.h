// A temporary folder that only this user can access, removed with its owner; if the owner was
// killed, by the next one made there. Nothing in its name says who made it: containers that share a
// folder have the same process numbers.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/base/file_lock.h"

namespace instr {

class PrivateFolder {
 public:
  // Made (mode 0700) inside `parent`, or inside $TMPDIR (else /tmp) if that is empty. Removes what
  // killed runs of this user left there.
  static Expected<PrivateFolder> make(const std::filesystem::path& parent = {});

  // The same for files that are then moved into `parent`: whatever their names, no other process in
  // any container uses them meanwhile. The error is an errno.
  static tl::expected<PrivateFolder, int> make_in(const std::filesystem::path& parent);

  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder();

  const std::filesystem::path& path() const { return path_; }

  // Removes those of this process, just before an exit that runs no destructors.
  static void remove_all() noexcept;

 private:
  static tl::expected<PrivateFolder, int> make_named(const std::filesystem::path& parent,
                                                     const char* prefix);
  PrivateFolder(std::filesystem::path path, std::optional<FileLock> lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  void remove() noexcept;

  std::filesystem::path path_;
  std::optional<FileLock> lock_;  // of a file in it: held while its owner lives
};

}  // namespace instr
