// Answers requests on a control socket, as worker/counted/host.h does under Callgrind: forks hosts,
// loads units, and times or verifies their variants in forked children.
#pragma once

#include <functional>
#include <string>

#include "worker/channel.h"
#include "worker/native/repetitions.h"

namespace instr {

class NativeHost {
 public:
  explicit NativeHost(int fd) : channel_(fd) {}

  Channel& channel() { return channel_; }

  // Serves until `quit` or until the other end is closed, then ends the process.
  [[noreturn]] void serve();

 private:
  wire::Message answer(const wire::Message& request);
  wire::Message load(const std::string& path);
  wire::Message time(const wire::Message& request);
  wire::Message verify(const wire::Message& request);
  // Does `work` in a child, with the request's device, memory_limit and timeout_ms. If the child
  // ends early, the reply has the fields of its last progress.
  using Work = std::function<wire::Message(const OnProgress&)>;
  wire::Message in_child(const wire::Message& request, const Work& work);

  Channel channel_;
};

// The root of a native worker: sends `hello` and serves requests (worker/wire.h), then ends the
// process.
[[noreturn]] void serve_natively();

}  // namespace instr
