// Times snippets with Google Benchmark. Repetitions of different snippets alternate, so that any
// drift of the machine affects all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "worker/wire.h"

namespace instr {

class TimedSnippet;

struct TimingRequest {
  std::vector<const void*> snippets;  // find_code() of each (worker/unit.h)
  std::string device = "cpu";
  int threads = 1;
  std::vector<std::string> events = {};  // metrics of kCountedEvents
  int repetitions = 10;
  double min_time_s = 0.05;            // of a repetition
  double warm_up_s = 0.02;             // before the first repetition; at least one iteration
  std::uint64_t iterations = 0;        // of a repetition; 0: as many as min_time_s needs
  bool wants_events = false;           // run_experiment() replies the profiler's events
  std::vector<std::string> logs = {};  // of a compiler; inspect() replies them
  // Called before "setup" or "statement" runs, which may crash.
  std::function<void(const std::string& part)> on_part = [](const std::string&) {};
};

// Times the start of the first snippet, in a process that has not run it yet: `started` or `failed`
// (worker/wire.h).
wire::Message time_start(const TimingRequest& request);

// Times the start of a snippet that has not been set up, and can continue afterwards.
wire::Message time_start(TimedSnippet& snippet);

// Times the snippets; replies `timed` or `failed` for each, in their order (worker/wire.h).
std::vector<wire::Message> time_alternately(const TimingRequest& request);

// Times a snippet that is set up, and can continue afterwards.
wire::Message time_repetitions(const TimingRequest& request, TimedSnippet& snippet);

}  // namespace instr
