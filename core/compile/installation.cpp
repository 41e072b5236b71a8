#include "core/compile/installation.h"

#include <system_error>

namespace instr {

namespace fs = std::filesystem;

namespace {

// Messages name the file that a user may edit, not the build tree's link to it.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

}  // namespace

Installation find_installation() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  fs::path share = (folder / INSTR_SHARE).lexically_normal();
  if (!fs::exists(share, ignored)) share = folder / "share/instr_bench";  // of a build tree
  return {resolved(share / "worker").parent_path(), resolved(share / "definitions"),
          resolved(share / "selftest")};
}

}  // namespace instr
