// What find_code() points to (worker/unit.h) in a worker for Python: a code object, marshalled.
#pragma once

#include <string>

namespace instr {

using PythonCode = std::string;

}  // namespace instr
