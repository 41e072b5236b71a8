// Where the product's own files are: the worker's sources and the standard set.
#pragma once

#include <filesystem>

namespace instr {

struct Installation {
  std::filesystem::path sources;      // the folder that holds worker/
  std::filesystem::path definitions;  // the standard set
  std::filesystem::path selftest;     // the small library that selftest plants slow-downs in
};

// Beside the installed program (../share/instr_bench), else the source tree it was built from.
Installation find_installation();

}  // namespace instr
