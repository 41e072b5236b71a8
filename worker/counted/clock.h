// The clocks of a counted process, which are the system's unless they are pinned or disturbed.
#pragma once

#include <stdint.h>

namespace instr {

// From here on, each reading advances the clock by 1 us from a fixed time, and nothing else does,
// apart from waits.
void pin_clock();

// From here on, clocks are ahead of the system's: by a second, and by up to 16 ms more with each
// reading, until it is two seconds. A cost that depends on the time shows when it is counted again.
// Readings cost the same number of instructions as before.
void disturb_clock();

// Returns how many system calls of this process have read a clock.
uint64_t clock_readings();

}  // namespace instr
