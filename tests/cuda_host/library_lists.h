// Lists of the CUDA libraries that a LibTorch needs, as tests/fixtures/cuda_host records them: a
// line "SONAME VERSION" or "SONAME", followed by a line "  FUNCTION" for each function.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/compile/cuda_host.h"

namespace instr::testing {

inline std::string print_libraries(const std::vector<CudaLibrary>& libraries) {
  std::string text;
  for (const CudaLibrary& library : libraries) {
    text += library.soname + (library.version.empty() ? "" : " " + library.version) + "\n";
    for (const std::string& function : library.functions) text += "  " + function + "\n";
  }
  return text;
}

inline std::vector<CudaLibrary> parse_libraries(const std::string& text) {
  std::vector<CudaLibrary> libraries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) {
      libraries.back().functions.push_back(line.substr(2));
      continue;
    }
    std::istringstream words(line);
    libraries.emplace_back();
    words >> libraries.back().soname >> libraries.back().version;
  }
  return libraries;
}

}  // namespace instr::testing
