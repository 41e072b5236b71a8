#pragma once

#include <functional>
#include <string>

#include "core/results/measurement.h"

namespace instr {

// Events reported for each variant while measuring.
struct MeasureEvents {
  std::function<void(const std::string& key)> on_start;
  std::function<void(Measurement)> on_done;
  // A step of an experiment that was started: "verifying".
  std::function<void(const std::string& what)> on_step = [](const std::string&) {};
};

}  // namespace instr
