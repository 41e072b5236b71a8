// The data type of tensors that a snippet makes without naming one.
#pragma once

#include <string>

namespace instr {

// "float32", "float64", "float16", "bfloat16". False for another name.
bool set_default_type(const std::string& name);

}  // namespace instr
