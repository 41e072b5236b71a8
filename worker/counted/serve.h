// The root of a worker: the process that starts LibTorch under Callgrind and forks zygotes.
#pragma once

namespace instr {

// Sends `hello` and serves requests (worker/wire.h), then ends the process.
[[noreturn]] void serve();

}  // namespace instr
