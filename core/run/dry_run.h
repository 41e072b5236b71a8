// What a run would do with each variant: cached, to be compiled, skipped. Starts no worker.
#pragma once

#include <vector>

#include "core/base/error.h"
#include "core/compile/planned_variant.h"
#include "core/run/config.h"

namespace instr {

Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants);

}  // namespace instr
