// What LibTorch's libraries keep of the machine, made to leave no trace in later addresses.
#pragma once

namespace instr {

// Has the processor described now, before anything of a snippet's is on the heap: a block for each
// core, or one more for a greater machine, would otherwise move the addresses of later blocks,
// which are hashes in Python.
void describe_processor();

}  // namespace instr
