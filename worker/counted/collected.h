// The events that Callgrind has collected so far in this process.
#pragma once

#include <stdint.h>

#include <string>

namespace instr {

// A count for each kind of event, in Callgrind's order: instructions first, then simulated ones.
constexpr int kMaxEvents = 16;
struct Events {
  uint64_t of[kMaxEvents];

  uint64_t ir() const { return of[0]; }
  bool operator==(const Events& other) const = default;
};
Events operator-(const Events& left, const Events& right);

// Callgrind's state at one time.
struct Collected {
  Events events{};            // of all threads together
  Events others{};            // of all but the calling one
  uint64_t system_calls = 0;  // of all threads
  uint64_t dumps = 0;         // profiles written
  bool is_known = false;      // could be read
  bool is_on = false;         // it instruments
};

// The disturbance between these two, if only `iterations` of a statement, counted or not (0),
// should have run there, and no earlier thread if `is_alone`; null: none.
const char* disturbance(const Collected& begin, const Collected& end, uint64_t iterations,
                        bool is_alone);

// Events of all threads since collection was first switched on, or since the last dump; only
// differences are meaningful. Callgrind keeps the sums and writes them to the log on request,
// within microseconds, whereas a dump takes milliseconds: it walks through all that Callgrind has
// ever seen. `log`: path of this process's log. Not to be called in a process that forks others
// later: Valgrind would write the output for all of them to the log of the first one.
Collected collected(const char* log);

// The events' names as of the last collected(), separated by spaces: "Ir Dr Dw", without those of
// system calls. Empty: they could not be read.
const char* event_names();

}  // namespace instr
