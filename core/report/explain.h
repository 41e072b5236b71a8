// Where a single count goes: the functions by their self cost.
#pragma once

#include <cstddef>
#include <string>

#include "core/values/measurement.h"

namespace instr {

struct ExplainOptions {
  std::size_t most_functions = 25;
  int width = 0;  // columns; 0: no limit
  bool color = false;
};

// A line for each function, the dearest first: instructions for each iteration, its share, the
// share of all up to it, its calls for each iteration, and its name; the rest as one line, so that
// they add up to the count. `counted` holds the functions. Ends with a newline.
std::string explain_text(const std::string& key, const Counted& counted,
                         const ExplainOptions& options);

}  // namespace instr
