// The default data type of a snippet's tensors.
#pragma once

#include <string>

namespace instr {

// Sets it to "float32", "float64", "float16" or "bfloat16"; false for another name.
bool set_default_type(const std::string& name);

}  // namespace instr
