// How many instructions Callgrind has collected so far in this process.
#pragma once

#include <stdint.h>

#include <string>

namespace instr {

// Where Valgrind writes the log of process `pid`: a fork gives each process one of its own.
std::string log_path(const std::string& profile_prefix, int pid);

// Instructions of all threads since collection was first switched on, or since the last dump; only
// differences mean something. Callgrind keeps the sum and writes it to the log on request, within
// microseconds, where a dump takes milliseconds: that walks through all that Callgrind has ever seen.
// `log`: path of this process's log. 0: nothing could be read. Not to be called in a process that
// forks others later: Valgrind would write what they ask for to the log of the first that asked.
uint64_t collected(const char* log);

}  // namespace instr
