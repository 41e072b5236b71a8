// The target of find_code() (worker/unit.h) in a worker for Python: a marshalled code object.
#pragma once

#include <string>

namespace instr {

using PythonCode = std::string;

}  // namespace instr
