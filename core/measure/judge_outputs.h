// The verdict on whether a backend's results equal eager's. Pure.
#pragma once

#include <string>

#include "core/definitions/variant.h"
#include "core/results/verification.h"
#include "worker/wire.h"

namespace instr {

// Returns how far values may differ, "Float 1.3e-06 1e-05 Double ...": relative and absolute, by
// LibTorch's names of the data types; all other types must be equal. The defaults are
// torch.testing's; the definition may override them. Under autocast float32 and the type that it
// computes in have at least that type's tolerance.
std::string allowed_differences(const Variant& variant);

// Judges the worker's reply to `verify` (worker/wire.h).
Verification judge(const wire::Message& reply, const Tolerance& tolerance);

}  // namespace instr
