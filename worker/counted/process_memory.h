// The memory of a process.
#pragma once

#include <stdint.h>
#include <sys/types.h>

namespace instr {

// Returns the bytes of private writable mappings (heap, stacks, mmap), touched or not, and of
// shared ones that are touched; 0 if unknown. Does not use the heap.
uint64_t memory_taken_by(pid_t pid);

}  // namespace instr
