// All that the worker asks of LibTorch, behind plain types: one file includes its headers.
#pragma once

#include <string>

namespace instr::torch_side {

std::string version();         // "2.13.0"
std::string cpu_capability();  // as LibTorch chose it: "AVX2"

// What runs in a zygote before it forks anything: part of what a zygote is, so a change of it is a
// change of the worker's version.
void warm_up_eager();
void warm_up_torchscript();

// LibTorch's state that a snippet starts from: default generator seeded, number of threads.
void prepare(int threads);

// Runs `body`; the text of the exception that ended it, or nothing. `is_definition_error` says that
// it was an instr_definition_error (worker/snippet_support.h).
struct Caught {
  bool any = false;
  bool is_definition_error = false;
  std::string text;
};
Caught run_guarded(void (*body)(void*), void* argument);

}  // namespace instr::torch_side
