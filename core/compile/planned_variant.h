// A variant with the work that a run would do for it.
#pragma once

#include <string>

#include "core/definitions/variant.h"

namespace instr {

enum class PlannedStep {
  kUnknown,  // it would be measured; whether its unit is cached is unknown
  kCached,   // its unit is in the cache
  kCompile,  // its unit has to be compiled
  kSkip,     // it cannot be measured here
  kMeasured  // its result is there already
};

struct PlannedVariant {
  Variant variant;
  PlannedStep step = PlannedStep::kUnknown;
  std::string reason;  // the reason for kSkip
};

}  // namespace instr
