// A temporary folder that only this user can look into, and that goes with its owner.
#pragma once

#include <filesystem>

#include "core/error.h"

namespace instr {

class PrivateFolder {
 public:
  // Made (mode 0700) inside `parent`, or inside $TMPDIR (else /tmp) where that is empty.
  static Expected<PrivateFolder> make(const std::filesystem::path& parent = {});

  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  void remove() noexcept;

  std::filesystem::path path_;
};

}  // namespace instr
