#include "worker/counted/reply.h"

#include <signal.h>

#include "worker/children.h"

namespace instr {
namespace {

template <size_t size>
std::string join_counts(const uint64_t (&counts)[size]) {
  std::string text;
  for (const uint64_t count : counts) text += (text.empty() ? "" : " ") + std::to_string(count);
  return text;
}

wire::Message measured(const RunResult& result, const std::string& profile) {
  const BlockTotals& a = result.last[0];
  const BlockTotals& b = result.last[1];
  auto text = [](uint64_t value) { return std::to_string(value); };
  return {"measured",
          {{"iterations", text(result.iterations)},
           {"warmup", text(result.warmup)},
           {"steady", text(result.steady)},
           {"changes_state", text(result.changes_state)},
           {"blocks", text(result.blocks)},
           {"ir_1", text(a.events.ir())},
           {"ir_2", text(b.events.ir())},
           {"double_ir", text(result.doubled.ir())},
           {"events", result.event_names},
           {"events_2", counts_text(b.events)},
           {"double_events", counts_text(result.doubled)},
           {"compile_ir", text(result.compile_ir)},
           {"allocs_1", text(a.allocs)},
           {"allocs_2", text(b.allocs)},
           {"alloc_bytes_1", text(a.alloc_bytes)},
           {"alloc_bytes_2", text(b.alloc_bytes)},
           {"peak_bytes", text(result.peak_bytes)},
           {"device_2", join_counts(b.device.of)},
           {"profile", profile}}};
}

// The reply if the run reported its state before the child ended.
wire::Message reported(const RunResult& result, const std::string& profile) {
  switch (result.state) {
    case RunState::kFinished: return measured(result, profile);
    case RunState::kException: return failed("exception", result.text);
    case RunState::kDefinitionError: return failed("definition_error", result.text);
    case RunState::kExited: return exited(result.exit_status);
    case RunState::kNoBlocks:
      return failed("definition_error",
                    "the setup or the statement returned before its loop was measured");
    case RunState::kDisturbed: return failed("definition_error", result.text);
    case RunState::kUnsupported:
      return failed("unsupported", std::string("not supported by CUDA's stand-in: ") + result.text);
    case RunState::kNoMemory:
      return failed("worker_lost",
                    "the snippet's heap or stack could not be mapped at its address");
    case RunState::kNoProfile:
    case RunState::kStarted: break;
  }
  return failed("no_profile", std::string("Callgrind's counts could not be read: ") + result.text);
}

}  // namespace

std::string counts_text(const Events& events) { return join_counts(events.of); }

wire::Message make_reply(const RunRequest& request, const RunResult& result, const Ended& ended,
                         const std::string& output, const std::string& profile) {
  wire::Message reply;
  if (const auto cause = find_cause(ended, request.memory_limit)) {
    reply = *cause;
  } else if (result.arena_exhausted != 0 && result.state != RunState::kFinished) {
    reply = failed("out_of_memory", describe_excess(Excess::kHeap, request.memory_limit));
  } else if (result.state != RunState::kStarted) {
    reply = reported(result, profile);
  } else if (result.fault_signal != 0) {
    reply = crashed(static_cast<int>(result.fault_signal), result.stack_overflow != 0);
    if (result.fault_signal == SIGILL) {
      reply.fields["message"] +=
          ": Valgrind does not know every instruction, none of AVX-512 for example (compile for "
          "-march=x86-64-v3 or less)";
    }
  } else {
    reply = ended_early(ended.status, output);
    reply.fields["message"] += ended.valgrind_words;
  }
  // The first block is requested after the setup.
  const bool is_known = reply.verb == "failed" && result.state != RunState::kDefinitionError &&
                        result.state != RunState::kDisturbed;
  if (is_known) reply.fields["part"] = result.is_set_up ? "statement" : "setup";
  if (result.line != 0) reply.fields["line"] = std::to_string(result.line);
  reply.fields["output"] = output;
  return reply;
}

}  // namespace instr
