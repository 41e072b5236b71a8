// The connection to a worker: messages of worker/wire.h on a socket.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"
#include "worker/cpu_watch.h"
#include "worker/wire.h"

namespace instr {

// Why a request got no reply.
enum class Loss { kClosed, kTimedOut, kIdle, kGarbled };

const char* to_string(Loss loss);

// Returns the text about a process that was still running after `limit`; empty if it had ended.
std::string late_text(Loss loss, std::chrono::milliseconds limit);
// Returns the message about a unit that ended the worker each time it was loaded. `log`: the
// worker's output.
std::string load_crash_text(Loss loss, const std::string& log);

// Returns a request's timeout; the longest sum of timeouts is thirty years.
std::chrono::milliseconds timeout_of(double seconds);

// Returns how long to wait for a host that enforces this timeout itself, and loads units: it is
// given up only if it fails to.
std::chrono::milliseconds with_margin(std::chrono::milliseconds timeout);

using Reply = tl::expected<wire::Message, Loss>;

// An end of a socket to a worker: a request, then its reply.
class Link {
 public:
  explicit Link(Fd socket) : socket_(std::move(socket)) {}

  // Returns two connected ends: ours, and the worker's.
  static Expected<std::pair<Link, Fd>> make();

  // How often to decide whether to go on waiting, and how; by default a call waits for one
  // interval.
  struct Patience {
    std::chrono::milliseconds interval;
    std::function<CpuVerdict()> look = [] { return CpuVerdict::kUsedUp; };
  };
  static Patience forever() {
    return {std::chrono::hours(1), [] { return CpuVerdict::kGoesOn; }};
  }

  // Sends, with the descriptor `passed` as ancillary data if it is not negative, and waits for the
  // reply, which must have the request's token. After a Loss the link is unusable.
  Reply request(const wire::Message& message, const Patience& patience, int passed = -1);

  // Waits for an unsolicited message: `hello`, or a request. A descriptor that came with it is
  // kept for take_descriptor().
  Reply receive(const Patience& patience);
  Fd take_descriptor() { return std::move(descriptor_); }

  // Returns false if the other side has closed the connection.
  bool send(const wire::Message& message, int passed = -1);

  // From any thread. hang_up(): the other side sees the end of the stream, and its reply still
  // arrives. abort(): a waiting call ends with Loss::kClosed immediately.
  void hang_up();
  void abort();

 private:
  ssize_t receive_some(char* buffer, std::size_t size);

  Fd socket_;
  Fd descriptor_;
  std::string received_;  // bytes after the end of the last message
};

}  // namespace instr
