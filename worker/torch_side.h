// The worker's access to LibTorch, behind plain types: LibTorch's headers are included in
// torch_side.cpp alone. Workers for Python have the same functions in worker/python.
#pragma once

#include <stdint.h>

#include <string>
#include <type_traits>

#include "worker/abi.h"

namespace instr {

// The cost of entering a block: switching the collection on and off, and the loop around the
// iterations.
struct BlockEntry {
  int64_t max_ir = 1000;
  bool is_same_for_one = true;  // the same for a block of one iteration as for longer ones
  bool has_collisions = false;  // addresses collide, as in an interpreter: iterations vary a little
};

}  // namespace instr

namespace instr::torch_side {

std::string version();         // "2.13.0"
std::string cpu_capability();  // LibTorch's choice: "AVX2"

// Imports what this kind of zygote needs besides LibTorch, and runs what takes long on its first
// use: under instrumentation by Callgrind, it would take minutes.
void import_for(const char* kind);

// Runs the code that this kind of zygote runs before it forks a process, for Valgrind to translate
// it. A change of that code, or of import_for(), changes the worker's version.
void warm_up(const char* kind);

// Returns a snippet of the interpreter, with which a zygote rehearses a run; null without one.
instr_snippet rehearsed_snippet();

// Seeds LibTorch's default generator and sets its number of threads for a snippet.
void prepare(int threads);

// True if an interpreter runs the snippet: it has caches and garbage, which grow with each
// iteration.
bool has_interpreter();
// Empties the caches that are keyed by address, and removes garbage.
void reset_interpreter();

// Begins to note the cost of each function that the snippet's interpreter runs, native callees
// included. `total` returns the instructions counted so far. False if there is no interpreter, or
// it does not show its calls.
bool follow_calls(uint64_t (*total)());

// Ends that, and returns the notes as JSON: "functions", the first being the statement itself, with
// code ({name, file, line}), self, inclusive, calls, recursive; and "calls", each with caller,
// callee, inclusive, calls. Empty if there were too many.
std::string followed_calls();

// Returns the paths of the modules that the snippet's interpreter has imported for it, one per
// line.
std::string loaded_modules();

// Tells the interpreter that code now runs on this stack, from its lowest address; null: on the
// thread's own. CPython 3.14 compares the stack pointer with the limits that it knows, and releases
// no object while it believes that the stack is exhausted.
void use_stack(void* lowest, uint64_t size);

// Some interpreters specialise code for the types it meets, and again after some executions. Begins
// to note the code that runs. False if there is no such interpreter, or its version is unknown.
bool note_code();
void end_noting_code();

// To be called before each of the last kSettlingIterations of the warm-up, and after them: from
// then on the noted code does not change.
constexpr uint64_t kSettlingIterations = 4;
void settle_code(uint64_t iterations_left);

// Iterations of a snippet before the first counted block, if blocks have so many iterations.
uint64_t warm_up_for(uint64_t iterations);

// The cost of entering a block, and the maximum number of iterations for which the loop itself
// costs the same in each.
BlockEntry block_entry();
uint64_t max_block();

// The exception that ended run_guarded()'s `body`, if any.
struct Caught {
  bool any = false;
  bool is_definition_error = false;  // an instr_definition_error (worker/snippet_support.h)
  int line = 0;                      // the snippet's line, in Python
  std::string text;
};
Caught run_guarded(void (*body)(void*), void* argument);

template <class Body>
Caught run_guarded(Body&& body) {
  return run_guarded([](void* called) { (*static_cast<std::remove_reference_t<Body>*>(called))(); },
                     &body);
}

}  // namespace instr::torch_side
