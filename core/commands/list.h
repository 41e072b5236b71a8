// The output of --dry-run.
#pragma once

#include "core/base/exit_status.h"
#include "core/cli/showing.h"
#include "core/engine/config.h"

namespace instr {

// Prints what a run would do with each of the selected variants.
ExitStatus show_dry_run(const PlanConfig& plan, const MeasureConfig& measure,
                        const Showing& showing);

}  // namespace instr
