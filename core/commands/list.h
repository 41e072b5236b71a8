// The output of `list`, --list and --dry-run.
#pragma once

#include "core/base/exit_status.h"
#include "core/cli/showing.h"
#include "core/engine/config.h"
#include "core/report/list.h"

namespace instr {

// The selected variants.
ExitStatus show_list(const PlanConfig& plan, ListFormat format);

// What a run would do with each of them.
ExitStatus show_dry_run(const PlanConfig& plan, const MeasureConfig& measure,
                        const Showing& showing);

}  // namespace instr
