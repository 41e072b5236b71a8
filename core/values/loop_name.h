// The name of the interpreter's loop in a profile whose paths are separate.
#pragma once

#include <vector>

#include "core/values/profile.h"

namespace instr {

// What was running when instrumentation began, Callgrind names after the place to which the first
// function returns. If that is in one that ends in a jump, as CPython's PyObject_Vectorcall does,
// its own return is missed, and all that its caller, the interpreter's loop, does is taken for it.
// Renames it where it is, and at the ends of paths.
void name_loop(std::vector<ProfileFunction>& functions);

}  // namespace instr
