// The folder in which a unit is loaded and its snippets run, and limits of what a snippet and the
// processes that it starts take of the machine, besides CPU time (worker/cpu_watch.h). Limits do
// not use the heap: a host's heap must not depend on how often it checked a process.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <string>

namespace instr {

// The folder is a private one among the worker's files, emptied for each snippet except for the
// link to LibTorch's libraries.

// Creates the folder anew and enters it; its name has a fixed length. Returns an error's text, or
// an empty one.
std::string enter_snippet_folder();

void remove_snippet_folder();

class ProcessTree;

enum class Excess { kNone, kTime, kHeap, kMemory, kFiles };

// Returns the bytes that a process has mapped for itself alone, used or not, and of shared ones
// those that it has used. 0 if it cannot be found out.
uint64_t memory_taken_by(pid_t pid);

// Limits the size of each file that this process and its children write, on a disk or in memory.
void limit_file_size(uint64_t bytes);

struct SnippetLimits {
  uint64_t bytes = 0;   // the limit of memory, and that of files; 0: no limit
  uint64_t before = 0;  // memory_taken_by() the child when the snippet began
  uint64_t beside = 0;  // allowed besides: of Valgrind, and of threads' stacks
};

// Returns what the processes of a snippet have taken too much of, if anything. Memory is that of
// the child (the tree's first process), of those that it started, of files in memory that they have
// open; files are those in the snippet's folder.
Excess find_excess(const ProcessTree& tree, const SnippetLimits& limits);

// "took more memory than its limit of 256 MiB, ..."
std::string describe_excess(Excess excess, uint64_t limit_bytes);

}  // namespace instr
