// Pins what would differ between runs of a Python snippet, in the interpreter and in the system's
// answers.
#pragma once

namespace instr {

// Makes cpuinfo, in LibTorch, describe the processor now. Otherwise its blocks, whose number
// depends on the number of cores, would move the addresses of later objects, which are their hashes
// in Python.
void describe_processor();

// Has libraries make names of attributes, while a snippet runs, at addresses that follow from the
// names. To be called once libtorch_python is loaded.
void place_temporary_names();

// Each context variable has a hash that follows from its name. The hash is the variable's place in
// the tree of a context. The interpreter's own follows from the variable's address, and so from all
// that was imported and allocated before.

// Lets the hash of each later variable also follow from a number, counted from 1. To be called when
// a snippet starts: it may make many variables of one name, as patching torch's settings does.
void number_context_variables();

// The system's answers that would differ in each run of a compiler: random bytes, times, ids. Each
// includes the ones before it.
enum class Pinned {
  kNothing,
  kRandom,     // the same random bytes in each run
  kClock,      // a clock that only calls of it advance
  kProcessId,  // unsafe for a process that writes to a shared folder: temporary names contain it
};

// From here on, this process sees these answers.
void pin_answers(Pinned which);

// Reads how this interpreter specialises running code, which settle_code() (worker/torch_side.h)
// ends. To be called before anything is measured, since it
// leaves traces on the heap.
void learn_adaptation();

// Forgets the code that a rehearsal has noted (note_code() in worker/torch_side.h).
void forget_noted_code();

}  // namespace instr
