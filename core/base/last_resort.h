// What no part of the program has foreseen still ends it with a line on standard error and a status
// that is documented.
#pragma once

#include <functional>

namespace instr {

// What `program` gives; `failed` where an exception escapes it. One that escapes another thread
// ends the process with `failed` at once.
int with_last_resort(int failed, const std::function<int()>& program);

}  // namespace instr
