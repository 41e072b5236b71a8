// The code that a found snippet is: marshalled by the interpreter that will run it.
#pragma once

#include <string_view>

namespace instr {

// Of the snippet that find_snippet() found last.
std::string_view found_code();
std::string_view empty_code();

}  // namespace instr
