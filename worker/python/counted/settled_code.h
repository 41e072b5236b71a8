// Code that the interpreter rewrites as it runs, brought to rest (worker/torch_side.h).
#pragma once

namespace instr {

// How it does that, learnt before anything is measured, since this leaves traces on the heap.
void learn_adaptation();

}  // namespace instr
