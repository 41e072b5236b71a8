#include "core/compile/installation.h"

#include <system_error>

namespace instr {

namespace fs = std::filesystem;

Installation find_installation() {
  std::error_code ignored;
  fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  fs::path share = program.parent_path().parent_path() / "share" / "instr_bench";
  if (fs::exists(share / "worker", ignored))
    return {share, share / "definitions", share / "selftest"};
  fs::path root = INSTR_SOURCE_DIR;
  return {root, root / "definitions", root / "tools" / "selftest"};
}

}  // namespace instr
