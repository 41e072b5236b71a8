// The root of a native worker.
#pragma once

namespace instr {

// Sends `hello` and serves requests (worker/wire.h), then ends the process.
[[noreturn]] void serve_natively();

}  // namespace instr
