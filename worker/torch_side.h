// Everything that the worker needs from LibTorch, behind plain types: only one file includes its
// headers.
#pragma once

#include <stdint.h>

#include <string>
#include <type_traits>

namespace instr {

// The cost of entering a block, beside its iterations: switching the collection on and off, and the
// loop around the iterations.
struct BlockEntry {
  int64_t max_ir = 1000;
  bool is_same_for_one = true;  // a block of one iteration has the entry that longer ones have
};

}  // namespace instr

namespace instr::torch_side {

std::string version();         // "2.13.0"
std::string cpu_capability();  // as LibTorch chose it: "AVX2"

// The code that this kind of zygote runs before it forks anything: part of its identity, so a
// change here changes the worker's version.
void warm_up(const char* kind);

// Sets LibTorch's state for a snippet: default generator seeded, number of threads.
void prepare(int threads);

// From here on, notes what each function costs that the snippet's interpreter runs; `total`: the
// instructions counted so far. Such a function is noted with all that it calls natively. False:
// there is no interpreter, or none that shows its calls.
bool follow_calls(uint64_t (*total)());

// Ends that. What was noted, as JSON: functions, of which the first is the statement itself, with
// code
// ({name, file, line}), self, inclusive, calls, recursive; and calls, each of caller, callee,
// inclusive, calls. Empty: there were too many.
std::string followed_calls();

// Some interpreters rewrite code for what it meets, and rewrite it again after some executions.
// From here on, notes the code that runs. False: there is no such interpreter, or not as known
// here.
bool note_code();
void end_noting_code();

// To be called before each of as many iterations, and after them: the code noted then stays as it
// is.
constexpr uint64_t kSettlingIterations = 4;
void settle_code(uint64_t iterations_left);

// Iterations of a snippet before the first counted block of so many.
uint64_t warm_up_for(uint64_t iterations);

// The cost of entering a block, and the iterations of the longest block whose loop costs the same
// for each of them.
BlockEntry block_entry();
uint64_t max_block();

// The result of running `body`: the text of the exception that ended it, or nothing.
// `is_definition_error`: it was an instr_definition_error (worker/snippet_support.h).
struct Caught {
  bool any = false;
  bool is_definition_error = false;
  int line = 0;  // of the snippet, in Python
  std::string text;
};
Caught run_guarded(void (*body)(void*), void* argument);

template <class Body>
Caught run_guarded(Body&& body) {
  return run_guarded([](void* called) { (*static_cast<std::remove_reference_t<Body>*>(called))(); },
                     &body);
}

}  // namespace instr::torch_side
