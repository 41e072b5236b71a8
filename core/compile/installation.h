// The locations of the product's own files: the worker's sources, the standard set and the suites.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

struct Installation {
  std::filesystem::path sources;      // the folder that holds worker/
  std::filesystem::path definitions;  // the standard set
  std::filesystem::path suites;       // models: NAME.toml is the suite of that name
  std::filesystem::path selftest;     // the small library that selftest plants slow-downs in
};

// Derived only from the program's own location, so that an installation can be moved: in the share/
// of its prefix or, in a build tree, behind links to the source tree.
Installation find_installation();

// The suites that are there, sorted.
std::vector<std::string> list_suites();

// A suite's definition file. An error, without a place, names the known ones.
Expected<std::filesystem::path> find_suite(const std::string& name);

}  // namespace instr
