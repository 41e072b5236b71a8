#include "worker/ended.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <string_view>

namespace instr {
namespace {

constexpr std::string_view kWhat = "\n  what():  ";  // precedes an uncaught exception's message

// Returns ": " and the line with the reason: the first of an uncaught exception's message, which a
// stack trace may follow, else the last line.
std::string find_reason(const std::string& output) {
  std::size_t end = output.find_last_not_of("\r\n");
  if (end == std::string::npos) return "";
  const std::size_t what = output.rfind(kWhat);
  if (what != std::string::npos) {
    const std::size_t begin = what + kWhat.size();
    return ": " + output.substr(begin, output.find('\n', begin) - begin);
  }
  std::size_t begin = output.find_last_of('\n', end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return ": " + output.substr(begin, end + 1 - begin);
}

}  // namespace

wire::Message failed(const char* kind, const std::string& message) {
  return {"failed", {{"kind", kind}, {"message", message}}};
}

wire::Message crashed(int signal, bool stack_overflow) {
  std::string what = stack_overflow ? "stack overflow" : sigdescr_np(signal);
  return failed("crashed", std::string("SIG") + sigabbrev_np(signal) + ": " + what);
}

wire::Message exited(int status) {
  return failed("exited",
                "the snippet ended the process with exit status " + std::to_string(status));
}

std::optional<wire::Message> find_cause(const Ended& ended, uint64_t memory_limit) {
  if (ended.excess != Excess::kNone) {
    return failed("out_of_memory", describe_excess(ended.excess, memory_limit));
  }
  if (ended.too_many) {
    return failed("aborted", "the snippet started more than " + std::to_string(kMaxProcesses) +
                                 " processes, and was ended with all of them");
  }
  if (!ended.was_stopped()) return std::nullopt;
  return failed("timed_out", stopped_text(ended.stopped, ended.limit_ms));
}

wire::Message ended_early(int status, const std::string& output) {
  if (WIFEXITED(status)) return exited(WEXITSTATUS(status));
  int signal = WTERMSIG(status);
  if (signal == SIGXFSZ) {
    return failed("out_of_memory",
                  "the snippet wrote a file that is larger than its memory may be");
  }
  if (signal == SIGABRT) return failed("aborted", "the snippet aborted" + find_reason(output));
  const bool is_overflow = output.find(kStackOverflow) != std::string::npos;
  if (signal != SIGKILL) return crashed(signal, signal == SIGSEGV && is_overflow);
  return failed("crashed", "SIGKILL: killed from outside; was the machine out of memory?");
}

}  // namespace instr
