#pragma once

namespace instr {

// Says hello on the control socket, and answers requests until `quit` or the other side's end.
// Never returns: the process ends.
[[noreturn]] void serve_natively();

}  // namespace instr
