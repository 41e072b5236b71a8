// A zygote: a worker that has started LibTorch, instrumented and warmed up, and forks hosts.
#pragma once

namespace instr {

// Switches instrumentation on, so that all forks inherit the translations, runs the warm-up of this
// kind of zygote and serves requests (worker/wire.h). Never returns: the process ends.
[[noreturn]] void serve_as_zygote(const char* kind);

}  // namespace instr
