#include "worker/outcome.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

namespace instr {
namespace {

wire::Message measured(const RunResult& result, const std::string& profile) {
  const BlockTotals& a = result.last[0];
  const BlockTotals& b = result.last[1];
  auto text = [](uint64_t value) { return std::to_string(value); };
  return {"measured",
          {{"iterations", text(result.iterations)},
           {"warmup", text(result.warmup)},
           {"steady", text(result.steady)},
           {"blocks", text(result.blocks)},
           {"ir_1", text(a.events.ir())},
           {"ir_2", text(b.events.ir())},
           {"double_ir", text(result.doubled.ir())},
           {"events", result.event_names},
           {"events_2", counts_text(b.events)},
           {"double_events", counts_text(result.doubled)},
           {"allocs_1", text(a.allocs)},
           {"allocs_2", text(b.allocs)},
           {"alloc_bytes_1", text(a.alloc_bytes)},
           {"alloc_bytes_2", text(b.alloc_bytes)},
           {"peak_bytes", text(result.peak_bytes)},
           {"profile", profile}}};
}

std::string last_line(const std::string& output) {
  std::size_t end = output.find_last_not_of("\r\n");
  if (end == std::string::npos) return "";
  std::size_t begin = output.find_last_of('\n', end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return ": " + output.substr(begin, end + 1 - begin);
}

wire::Message crashed(int signal, bool stack_overflow) {
  std::string what = stack_overflow ? "stack overflow" : sigdescr_np(signal);
  return failed("crashed", std::string("SIG") + sigabbrev_np(signal) + ": " + what);
}

wire::Message exited(int status) {
  return failed("exited", "the snippet ended the process with exit status " +
                              std::to_string(status));
}

// The snippet ended the process, or something outside did.
wire::Message ended_early(int status, const std::string& output) {
  if (WIFEXITED(status)) return exited(WEXITSTATUS(status));
  int signal = WTERMSIG(status);
  if (signal == SIGABRT) return failed("aborted", "the snippet aborted" + last_line(output));
  if (signal != SIGKILL) return crashed(signal, false);
  return failed("crashed", "SIGKILL: killed from outside; was the machine out of memory?");
}

// The child ended itself once it had told how the run went.
wire::Message ended_by_itself(const RunResult& result, const std::string& profile) {
  switch (result.state) {
    case RunState::kFinished:
      return measured(result, profile);
    case RunState::kException:
      return failed("exception", result.text);
    case RunState::kDefinitionError:
      return failed("definition_error", result.text);
    case RunState::kExited:
      return exited(result.exit_status);
    case RunState::kNoBlocks:
      return failed("definition_error", "the snippet returned before its loop was measured");
    case RunState::kNoMemory:
      return failed("worker_lost",
                    "the snippet's heap or stack could not be mapped at its address");
    case RunState::kNoProfile:
    case RunState::kStarted:
      break;
  }
  return failed("no_profile",
                "Callgrind did not tell what it counted; Valgrind 3.19 or newer is needed");
}

}  // namespace

std::string counts_text(const Events& events) {
  std::string text;
  for (uint64_t count : events.of) text += (text.empty() ? "" : " ") + std::to_string(count);
  return text;
}

wire::Message failed(const char* kind, const std::string& message) {
  return {"failed", {{"kind", kind}, {"message", message}}};
}

wire::Message outcome(const RunResult& result, int status, bool timed_out,
                      const std::string& output, const std::string& profile) {
  wire::Message reply;
  if (timed_out) {
    reply = failed("timed_out", "the snippet ran longer than its timeout");
  } else if (result.arena_exhausted != 0 && result.state != RunState::kFinished) {
    reply = failed("out_of_memory", "the snippet asked for more memory than its limit");
  } else if (result.state != RunState::kStarted) {
    reply = ended_by_itself(result, profile);
  } else if (result.fault_signal != 0) {
    reply = crashed(static_cast<int>(result.fault_signal), result.stack_overflow != 0);
  } else {
    reply = ended_early(status, output);
  }
  reply.fields["output"] = output;
  return reply;
}

}  // namespace instr
