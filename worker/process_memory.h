// How much memory a process has taken for itself.
#pragma once

#include <stdint.h>
#include <sys/types.h>

namespace instr {

// Bytes of private writable mappings, touched or not (heap, stacks, mmap), and of shared ones as
// far as they are touched; 0: it cannot be known. Takes nothing from the heap.
uint64_t memory_taken_by(pid_t pid);

}  // namespace instr
