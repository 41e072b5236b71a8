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

// Events of all threads since collection was first switched on, or since the last dump; only
// differences mean something. Callgrind keeps the sums and writes them to the log on request, within
// microseconds, where a dump takes milliseconds: that walks through all that Callgrind has ever seen.
// `log`: path of this process's log. All 0: nothing could be read. Not to be called in a process that
// forks others later: Valgrind would write what they ask for to the log of the first that asked.
Events collected(const char* log);

// The events' names as of the last collected(), separated by spaces: "Ir Dr Dw"; not more than
// kMostEvents. Empty: they could not be read.
const char* event_names();

}  // namespace instr
