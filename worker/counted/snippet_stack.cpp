#include "worker/counted/snippet_stack.h"

#include <signal.h>
#include <sys/mman.h>

#include "worker/counted/map_at.h"

namespace instr::snippet_stack {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

OnFault fault_handler = nullptr;

void handle_fault(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const bool is_in_guard = address - kGuardBase < kGuardSize;
  fault_handler(signal, signal == SIGSEGV && is_in_guard);
}

}  // namespace

bool map(OnFault on_fault) {
  if (!map_at(kBase, kTop - kBase)) return false;
  if (mprotect(reinterpret_cast<void*>(kGuardBase), kGuardSize, PROT_NONE) != 0) return false;
  stack_t signals{};
  signals.ss_sp = reinterpret_cast<void*>(kBase);
  signals.ss_size = kSignalSize;
  sigaltstack(&signals, nullptr);
  fault_handler = on_fault;
  struct sigaction action {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : kFaults) sigaction(signal, &action, nullptr);
  return true;
}

void unmap() {
  for (int fault : kFaults) signal(fault, SIG_DFL);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(reinterpret_cast<void*>(kBase), kTop - kBase);
}

}  // namespace instr::snippet_stack
