// What Callgrind has collected so far in this process.
#pragma once

#include <stdint.h>

#include <string>

namespace instr {

// A count of each kind of event, in Callgrind's order: instructions first, then what is simulated.
constexpr int kMostEvents = 16;
struct Events {
  uint64_t of[kMostEvents];

  uint64_t ir() const { return of[0]; }
  bool operator==(const Events& other) const = default;
};
Events operator-(const Events& left, const Events& right);

// What Callgrind says of itself at one time.
struct Collected {
  Events events{};        // of all threads together
  Events others{};        // of those that did not ask
  uint64_t dumps = 0;     // profiles written
  bool is_known = false;  // it could be read
  bool is_on = false;     // it instruments
};

// What is wrong where between these two only `iterations` of a statement should have run, counted
// or not (0), and no thread that was there before them if `is_alone`; null: nothing.
const char* disturbance(const Collected& begin, const Collected& end, uint64_t iterations,
                        bool is_alone);

// Events of all threads since collection was first switched on, or since the last dump; only
// differences mean something. Callgrind keeps the sums and writes them to the log on request,
// within microseconds, if a dump takes milliseconds: that walks through all that Callgrind has
// ever seen. `log`: path of this process's log. Not to be called in a process that forks others
// later: Valgrind would write what they ask for to the log of the first that asked.
Collected collected(const char* log);

// The events' names as of the last collected(), separated by spaces: "Ir Dr Dw"; not more than
// kMostEvents. Empty: they could not be read.
const char* event_names();

}  // namespace instr
