// Everything that the worker needs from LibTorch, behind plain types: only one file includes its
// headers.
#pragma once

#include <string>

namespace instr::torch_side {

std::string version();         // "2.13.0"
std::string cpu_capability();  // as LibTorch chose it: "AVX2"

// The code that a zygote runs before it forks anything: part of its identity, so a change here
// changes the worker's version.
void warm_up_eager();
void warm_up_torchscript();

// Sets LibTorch's state for a snippet: default generator seeded, number of threads.
void prepare(int threads);

// The result of running `body`: the text of the exception that ended it, or nothing.
// `is_definition_error`: it was an instr_definition_error (worker/snippet_support.h).
struct Caught {
  bool any = false;
  bool is_definition_error = false;
  std::string text;
};
Caught run_guarded(void (*body)(void*), void* argument);

}  // namespace instr::torch_side
