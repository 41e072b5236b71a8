// The stack that a snippet runs on. It is at a fixed address: the position of a stack, and with it
// the alignment of its variables, shows in counts.
#pragma once

#include <stdint.h>

extern "C" void instr_call_on_stack(void (*function)(void*), void* argument, void* stack_top);

namespace instr::snippet_stack {

// From the lowest address: the stack of signal handlers, a guard that nothing may touch, and the
// snippet's stack. All are below any stack that the process had before, and handlers run below the
// snippet: Callgrind takes a step up for a return.
inline constexpr uint64_t kBase = 0x5'BC10'0000;
inline constexpr uint64_t kSignalSize = 64 << 10;
inline constexpr uint64_t kGuardBase = kBase + kSignalSize;
inline constexpr uint64_t kGuardSize = 64 << 20;  // a larger frame jumps over it
inline constexpr uint64_t kLowest = kGuardBase + kGuardSize;
inline constexpr uint64_t kSize = 8 << 20;  // the size in main threads
inline constexpr uint64_t kTop = kLowest + kSize;

// Called on a fatal signal, such as SIGSEGV.
using OnFault = void (*)(int signal, bool is_stack_overflow);

// Maps the three and handles fatal signals. False if the addresses are not free.
bool map(OnFault on_fault);
void unmap();

// Calls function(nullptr) on the snippet's stack.
inline void call(void (*function)(void*)) {
  instr_call_on_stack(function, nullptr, reinterpret_cast<void*>(kTop));
}

}  // namespace instr::snippet_stack
