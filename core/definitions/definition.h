// A benchmark as written in TOML: one Definition per statement and language.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/definitions/snippet.h"

namespace instr {

// Shapes of tensors that a compiler may assume; the first unless others are requested.
inline constexpr const char* kShapes[] = {"static", "dynamic"};

struct Definition : Snippet {
  bool autograd = false;
  std::vector<int> threads{1};
  std::vector<std::string> devices{"cpu"};
  std::vector<std::string> shapes{"static"};  // elements of kShapes
  bool names_devices = false;                 // "{device}" in its texts is the variant's device
  // Parameter name and its values as text, in the order written.
  std::vector<std::pair<std::string, std::vector<std::string>>> matrix;
};

}  // namespace instr
