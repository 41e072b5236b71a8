// The locations of the product's own files: the worker's sources and the standard set.
#pragma once

#include <filesystem>

namespace instr {

struct Installation {
  std::filesystem::path sources;      // the folder that holds worker/
  std::filesystem::path definitions;  // the standard set
  std::filesystem::path selftest;     // the small library that selftest plants slow-downs in
};

// Derived only from the program's own location, so that an installation can be moved: in the share/
// of its prefix or, in a build tree, behind links to the source tree.
Installation find_installation();

}  // namespace instr
