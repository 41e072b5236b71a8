// How much memory a process has taken.
#pragma once

#include <stdint.h>
#include <sys/types.h>

namespace instr {

// Bytes of private writable mappings, touched or not (heap, stacks, mmap), and of shared ones as
// far as they are touched; 0: unknown. Does not use the heap.
uint64_t memory_taken_by(pid_t pid);

}  // namespace instr
