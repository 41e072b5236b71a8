// The Python code that find_snippet() found last (worker/unit.h), for the functions below.
#pragma once

#include <string_view>

#include "worker/abi.h"

namespace instr {

std::string_view found_code();
std::string_view empty_code();

void run_python_snippet(instr_context* context);
void run_python_empty_snippet(instr_context* context);

}  // namespace instr
