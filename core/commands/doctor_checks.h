// `instr_bench doctor`: reports what was found, what is missing and how to fix it, and measures a
// canary whose exact count is known, to show that counting works here.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/engine/config.h"

namespace instr {

struct Finding {
  std::string name;  // "Valgrind"
  bool good = false;
  std::string detail;  // what was found, or the problem and its solution
};

// Instructions of the canary in worker/canary.S, counted by hand.
inline constexpr double kCanaryInstructions = 1000;

// Checks one thing after the other, each passed to `on_finding` as soon as it is known; checks that
// depend on a failed one are skipped. True if all succeeded.
bool examine(const ToolConfig& tools, const std::function<void(const Finding&)>& on_finding,
             std::stop_token stop);

// "  ok  Valgrind   valgrind-3.19.0", with a newline.
std::string finding_line(const Finding& finding, bool color);

}  // namespace instr
