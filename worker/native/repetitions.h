// Times snippets with Google Benchmark, in rounds of one repetition of each snippet in random
// order, so that any drift of the machine affects all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/native/native_code.h"
#include "worker/native/verify.h"
#include "worker/wire.h"

namespace instr {

class TimedSnippet;

struct TimingRequest {
  std::vector<const void*> snippets;  // find_code() of each (worker/unit.h)
  std::string device = "cpu";
  int threads = 1;
  std::vector<std::string> events = {};  // metrics of kCountedEvents
  int repetitions = 10;
  double min_time_s = 0.05;      // the minimum for a repetition
  double warm_up_s = 0.02;       // seconds before the first repetition; at least one iteration
  std::uint64_t iterations = 0;  // iterations of a repetition; 0: as many as min_time_s needs
  std::vector<std::string> logs = {};  // a compiler's logs; inspect() replies them
  // For run_experiment(): reply the profiler's events; time the start of the last snippet;
  // verify that snippet at the end.
  bool wants_events = false;
  bool is_cold = false;
  std::optional<VerificationRequest> verification = {};
  // The fields are the `part` that runs, "setup", "preparing" (a compiler) or "statement", and the
  // number of the `snippet`.
  OnProgress on_progress = [](const wire::Fields&) {};
};

using TimedSnippets = std::vector<std::unique_ptr<TimedSnippet>>;

TimedSnippets make_snippets(const TimingRequest& request);

// Times the start of the first snippet, in a process that has not run it yet: `started` or `failed`
// (worker/wire.h).
wire::Message time_start(const TimingRequest& request);

// Times the start of a snippet that has not been set up, and can continue afterwards.
wire::Message time_start(TimedSnippet& snippet);

// Times the snippets; replies `timed` or `failed` for each, in their order (worker/wire.h).
std::vector<wire::Message> time_alternately(const TimingRequest& request);

// Times snippets that are set up or have failed, and can continue afterwards. Replies as above.
std::vector<wire::Message> time_repetitions(const TimingRequest& request,
                                            const TimedSnippets& snippets);

// A reply with these by their numbers.
wire::Message join(const std::vector<wire::Message>& messages);

}  // namespace instr
