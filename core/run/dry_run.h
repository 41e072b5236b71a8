// Plans a run without starting a worker: which variants are cached, to be compiled or skipped.
#pragma once

#include <vector>

#include "core/base/error.h"
#include "core/compile/planned_variant.h"
#include "core/run/config.h"

namespace instr {

Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants);

}  // namespace instr
