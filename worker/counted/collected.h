// Reads the events that Callgrind has collected so far in this process.
#pragma once

#include <stdint.h>

#include <string>

namespace instr {

// A count for each kind of event, in Callgrind's order: instructions, then simulated events.
constexpr int kMaxEvents = 16;
struct Events {
  uint64_t of[kMaxEvents];

  uint64_t ir() const { return of[0]; }
  bool operator==(const Events& other) const = default;
};
Events operator-(const Events& left, const Events& right);

struct Collected {
  Events events{};            // events of all threads together
  Events others{};            // events of all threads but the calling one
  uint64_t system_calls = 0;  // system calls of all threads
  uint64_t dumps = 0;         // profiles written
  bool is_known = false;      // false: could not be read
  int error = 0;              // errno, if the log could not be opened
  bool is_on = false;         // instrumentation is on
};

// Describes what else was counted between these two than `iterations` of a statement (0: nothing
// was to be counted), or null. `has_company`: another thread of the snippet was alive.
const char* find_disturbance(const Collected& begin, const Collected& end, uint64_t iterations,
                             bool has_company);

// Returns the events of all threads since collection was first switched on, or since the last dump;
// only differences are meaningful. Callgrind writes its sums to the log on request, within
// microseconds, whereas a dump takes milliseconds. `log`: the path of this process's log. Not to be
// called in a process that forks later: Valgrind would write the output of all forks to this log.
Collected read_collected(const char* log);

// Does what read_collected() does with Callgrind's answer, for an answer that is always the same.
Collected rehearse_reading();

// The names of the last read_collected() events, without those of system calls: "Ir Dr Dw". Empty
// if they could not be read.
const char* event_names();

// Returns the last messages of Valgrind itself in a process's log, in lines.
std::string read_valgrind_words(const std::string& log);

}  // namespace instr
