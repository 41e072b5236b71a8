// Locations of the product's own files: the worker's sources, the standard set and the suites.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

struct Installation {
  std::filesystem::path sources;      // the folder that holds worker/
  std::filesystem::path definitions;  // the standard set
  std::filesystem::path suites;       // models: NAME.toml is the suite NAME
  std::filesystem::path selftest;     // the small library in which selftest plants slow-downs
  std::filesystem::path agents;       // the page for coding agents
};

// Derives the locations only from the program's own, so that an installation can be moved: in
// share/ of its prefix or, in a build tree, behind links to the source tree.
Installation find_installation();

// Returns the installed suites, sorted.
std::vector<std::string> list_suites();

// Returns a suite's definition file. The error, without a place, names the known suites.
Expected<std::filesystem::path> find_suite(const std::string& name);

}  // namespace instr
