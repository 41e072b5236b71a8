// The system's answers that would differ in each run of a compiler: random bytes, times, ids.
#pragma once

namespace instr {

// Each includes the ones before it.
enum class Pinned {
  kNothing,
  kRandom,     // the same random bytes in each run
  kClock,      // a clock that only calls of it advance
  kProcessId,  // unsafe for a process that writes to a shared folder: temporary names contain it
};

// From here on, this process sees these answers.
void pin_answers(Pinned which);

}  // namespace instr
