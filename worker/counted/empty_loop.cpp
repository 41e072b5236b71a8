#include "worker/counted/empty_loop.h"

#include <string>

#include "worker/children.h"
#include "worker/counted/reply.h"
#include "worker/counted/run_snippet.h"

namespace instr {

constexpr uint64_t kEmptyLoopIterations = 24;

EmptyLoop read_empty_loop(const RunResult& result) {
  if (result.state != RunState::kFinished || !result.steady) return {};
  EmptyLoop loop{result.doubled - result.last[1].events};
  loop.entry_ir = result.last[1].events.ir() - loop.events.ir();
  loop.allocs = result.last[1].allocs;
  loop.alloc_bytes = result.last[1].alloc_bytes;
  loop.peak_bytes = result.peak_bytes;
  for (uint64_t& count : loop.events.of) {
    if (count % result.iterations != 0) return {};
    count /= result.iterations;
  }
  return loop;
}

wire::Message with_loop(wire::Message reply, const EmptyLoop& loop) {
  if (loop.events.ir() == 0) return failed("no_profile", "the empty loop could not be counted");
  reply.fields["loop_ir"] = std::to_string(loop.events.ir());
  reply.fields["loop_events"] = counts_text(loop.events);
  reply.fields["loop_entry_ir"] = std::to_string(loop.entry_ir);
  reply.fields["loop_allocs"] = std::to_string(loop.allocs);
  reply.fields["loop_alloc_bytes"] = std::to_string(loop.alloc_bytes);
  reply.fields["loop_peak_bytes"] = std::to_string(loop.peak_bytes);
  return reply;
}

RunRequest empty_loop_request(const RunRequest& like, instr_snippet empty) {
  RunRequest request = like;
  request.snippet = empty;
  request.threads = 1;
  request.plan.warmup = 1;
  request.plan.is_once = false;
  request.plan.iterations = kEmptyLoopIterations;
  request.plan.follow_calls = false;
  request.want_profile = request.wants_loaded = false;
  return request;
}

}  // namespace instr
