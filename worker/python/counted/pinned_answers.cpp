// The functions of the C library are replaced for the whole process, since the worker is preloaded.
// They ask the system until pin_answers() is called.
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "worker/counted/clock.h"
#include "worker/python/counted/pins.h"

namespace instr {
namespace {

constexpr pid_t kProcessId = 1'000'000;

std::atomic<Pinned> pinned{Pinned::kNothing};
std::atomic<uint64_t> random_state{0};

bool is_pinned(Pinned which) { return pinned.load() >= which; }

uint64_t next_random() {  // splitmix64
  uint64_t bits = random_state += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

}  // namespace

void pin_answers(Pinned which) {
  pinned = which;
  if (is_pinned(Pinned::kClock)) pin_clock();
}

}  // namespace instr

// Declared by the system's headers, partly as functions that never throw.
extern "C" {

ssize_t getrandom(void* to, size_t size, unsigned flags) {
  if (!instr::is_pinned(instr::Pinned::kRandom)) return syscall(SYS_getrandom, to, size, flags);
  for (size_t i = 0; i < size; ++i) {
    static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(instr::next_random());
  }
  return static_cast<ssize_t>(size);
}

pid_t getpid() noexcept {
  if (!instr::is_pinned(instr::Pinned::kProcessId)) return static_cast<pid_t>(syscall(SYS_getpid));
  return instr::kProcessId;
}

}  // extern "C"
