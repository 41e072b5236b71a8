// Settings for tests of this program, which nothing else needs: INSTR_TEST_* in the environment, as
// CONTRIBUTING.md describes them.
#pragma once

#include "core/base/error.h"
#include "core/engine/config.h"

namespace instr {

// Stores those that are set; a malformed one is an error.
Expected<void> read_test_settings(PlanConfig& plan, MeasureConfig& measure);

}  // namespace instr
