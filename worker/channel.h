// An end of a control socket: messages of worker/wire.h, and descriptors sent along with them.
#pragma once

#include <optional>
#include <string>

#include "worker/wire.h"

namespace instr {

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}

  // Waits for the next message. Returns nothing at the end of the stream or for a malformed line. A
  // descriptor sent along is kept until take_descriptor().
  std::optional<wire::Message> receive();

  // Sends a reply to the last message. False if the other end was closed.
  bool send(wire::Message message);

  // Moves to a random descriptor number; writes to the old one are lost. To be called before
  // loading code that may write to any descriptor.
  void move_out_of_reach();

  // Returns the descriptor sent with the last message, or -1; the caller closes it.
  int take_descriptor();

  bool hung_up() const;

  int fd() const { return fd_; }

 private:
  bool read_more();

  int fd_;
  int descriptor_ = -1;
  std::string received_;
  std::string token_;  // the last message's token
};

}  // namespace instr
