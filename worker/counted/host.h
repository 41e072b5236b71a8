// Answers requests on a control socket: forks processes that do the same, warms up, loads a unit,
// and measures each of its variants in a forked child, so that it survives snippets that crash.
#pragma once

#include <stdint.h>

#include <map>
#include <string>

#include "worker/channel.h"
#include "worker/children.h"
#include "worker/counted/empty_loop.h"
#include "worker/counted/run_snippet.h"

namespace instr {

class Host {
 public:
  explicit Host(int fd) : channel_(fd) {}

  Channel& channel() { return channel_; }

  // Serves until `quit` or until the other end is closed, then ends the process.
  [[noreturn]] void serve();

 private:
  wire::Message answer(const wire::Message& request);
  wire::Message fork_host();
  wire::Message warm_up(const wire::Message& request);
  void rehearse();
  wire::Message load(const std::string& path);
  wire::Message churn(uint64_t blocks);
  wire::Message measure(const wire::Message& request);
  RunRequest read_request(const wire::Message& request);
  [[noreturn]] void measure_here(const RunRequest& run, instr_snippet empty);

  // Runs in a child, and subtracts its CPU time from what is left.
  Ended in_child(const RunRequest& run, CpuLimits& left, ChildOutput& output);
  Ended in_silent_child(const RunRequest& run, CpuLimits& left);
  void count_again(const RunRequest& run, CpuLimits& left, const RunResult& first,
                   wire::Message& reply);
  void follow_first_call(const RunRequest& run, CpuLimits& left, wire::Message& reply);
  EmptyLoop empty_loop(const RunRequest& like, instr_snippet empty);
  RunResult* result();

  Channel channel_;
  bool has_unit_ = false;
  bool has_hosts_ = false;
  RunResult* result_ = nullptr;  // shared with children
  std::map<instr_snippet, EmptyLoop> empty_loops_;
};

// The root of a worker, which has started LibTorch under Callgrind and forks zygotes: sends `hello`
// and serves requests (worker/wire.h), then ends the process.
[[noreturn]] void serve();

}  // namespace instr
