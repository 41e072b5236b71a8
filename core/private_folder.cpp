#include "core/private_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace instr {

namespace fs = std::filesystem;

Expected<PrivateFolder> PrivateFolder::make(const fs::path& parent) {
  std::error_code problem;
  fs::path where = parent.empty() ? fs::temp_directory_path(problem) : parent;
  if (problem) where = "/tmp";
  std::string pattern = (where / "instr_bench.XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return fail("cannot make a temporary folder in " + where.string() + ": " + std::strerror(errno),
                "make room there, or set TMPDIR to a folder that can be written");
  }
  return PrivateFolder(pattern);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

PrivateFolder::~PrivateFolder() { remove(); }

void PrivateFolder::remove() noexcept {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace instr
