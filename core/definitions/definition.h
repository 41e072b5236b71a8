// A benchmark as written in TOML: one Definition per statement and language.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/definitions/snippet.h"

namespace instr {

// Shapes of tensors that a compiler may assume; the first unless others are requested.
inline constexpr const char* kShapes[] = {"static", "dynamic"};

// The parameter in keys of variants that count a compile; those that count calls lack it.
inline constexpr std::pair<const char*, const char*> kColdCompile{"compile", "cold"};

struct Definition : Snippet {
  bool autograd = false;
  std::vector<int> threads{1};
  std::vector<std::string> devices{"cpu"};
  std::vector<std::string> shapes{"static"};  // elements of kShapes
  bool only_compiling = false;                // as in ExperimentAxes; false if it `compiles`
  bool names_devices = false;                 // "{device}" in its texts is the variant's device
  // Parameter name and its values as text, in the order written.
  std::vector<std::pair<std::string, std::vector<std::string>>> matrix;
};

}  // namespace instr
