// Times snippets with Google Benchmark, alternately: after a repetition of one comes one of
// another, so that any drift of the machine affects all of them.
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
  double min_time_s = 0.05;            // of one repetition
  double warm_up_s = 0.02;             // before the first one, at least one iteration
  std::uint64_t iterations = 0;        // of a repetition; 0: as many as min_time_s needs
  std::uint64_t memory_limit = 0;      // bytes; 0: no limit
  bool wants_events = false;           // an experiment's reply has its profiler's
  std::vector<std::string> logs = {};  // of a compiler, that inspect() hands over
  // Called before a part of a snippet runs, "setup" or "statement": where it may crash.
  std::function<void(const std::string& part)> on_part = [](const std::string&) {};
};

// Times the start of each, in a process that has run none of them: `started` or `failed`
// (worker/wire.h).
wire::Message time_start(const TimingRequest& request);

// The same of one that has not been set up: that can go on afterwards.
wire::Message time_start(TimedSnippet& snippet);

// The result of each snippet, in their order: `timed` or `failed` (worker/wire.h). For one
// process: it leaves the snippets' stacks as they are.
std::vector<wire::Message> time_in_turns(const TimingRequest& request);

// The same of one that is set up, and can go on afterwards.
wire::Message time_repetitions(const TimingRequest& request, TimedSnippet& snippet);

}  // namespace instr
