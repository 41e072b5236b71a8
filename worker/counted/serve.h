// The root of a worker: the process that has started LibTorch under Callgrind, and forks zygotes.
#pragma once

namespace instr {

// Says hello and serves requests (worker/wire.h). Never returns: the process ends.
[[noreturn]] void serve();

}  // namespace instr
