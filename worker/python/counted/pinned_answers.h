// The system's answers that would differ in each run of a compiler: times, random bytes, ids.
#pragma once

namespace instr {

// From here on, this process sees a clock that only calls of it advance, and the same random bytes
// in each run. With `is_counted` it also has the same process id. A process that writes to a folder
// that it shares with others needs its own id, since temporary names contain it.
void pin_answers(bool is_counted);

}  // namespace instr
