// Answers requests on a control socket, as worker/host.h does under Callgrind: forks hosts, loads
// units, and times their variants in a forked child.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "worker/channel.h"
#include "worker/native/repetitions.h"

namespace instr {

class NativeHost {
 public:
  explicit NativeHost(int fd) : channel_(fd) {}

  Channel& channel() { return channel_; }

  // Serves until `quit` or the other side's end. Never returns: the process ends.
  [[noreturn]] void serve();

 private:
  wire::Message answer(const wire::Message& request);
  wire::Message load(const std::string& path);
  wire::Message time(const wire::Message& request);
  wire::Message in_child(const TimingRequest& request, const std::vector<int>& cores,
                         std::int64_t timeout_ms);
  instr_snippet find(const std::string& symbol) const;

  Channel channel_;
  std::vector<void*> units_;
};

}  // namespace instr
