// `instr_bench doctor`: what was found, what is missing and how to fix it; and a canary whose exact
// count is known, to show that counting works here.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/engine/config.h"

namespace instr {

struct Finding {
  std::string name;  // "Valgrind"
  bool good = false;
  std::string detail;  // what was found, or what is wrong and what to do
};

// Instructions of the canary in worker/canary.S, by counting its lines by hand.
inline constexpr double kCanaryInstructions = 1000;

// Checks one thing after the other, each handed to `on_finding` as soon as it is known; what cannot
// be checked because an earlier one failed is left out. True if all is well.
bool examine(const ToolConfig& tools, const std::function<void(const Finding&)>& on_finding,
             std::stop_token stop);

// "  ok  Valgrind   valgrind-3.19.0", with a newline.
std::string finding_line(const Finding& finding, bool color);

}  // namespace instr
