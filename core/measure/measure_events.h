#pragma once

#include <functional>
#include <string>

#include "core/results/measurement.h"

namespace instr {

// Events reported for each variant while measuring.
struct MeasureEvents {
  std::function<void(const std::string& key)> on_start;
  std::function<void(Measurement)> on_done;
};

}  // namespace instr
