// Ends the interpreter's specialisation of running code (settle_code() in worker/torch_side.h).
#pragma once

namespace instr {

// Reads how this interpreter specialises code. To be called before anything is measured, since it
// leaves traces on the heap.
void learn_adaptation();

}  // namespace instr
