#pragma once

namespace instr {

// Says hello, and answers requests until `quit` or the other side's end. Never returns: the process
// ends.
[[noreturn]] void serve_natively();

}  // namespace instr
