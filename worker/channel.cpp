#include "worker/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace instr {

bool Channel::read_more() {
  char bytes[16 * 1024];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec vector{bytes, sizeof bytes};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = recvmsg(fd_, &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return false;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    if (descriptor_ >= 0) close(descriptor_);
    memcpy(&descriptor_, CMSG_DATA(part), sizeof descriptor_);
  }
  received_.append(bytes, static_cast<std::size_t>(size));
  return true;
}

std::optional<wire::Message> Channel::receive() {
  std::size_t end;
  while ((end = received_.find('\n')) == std::string::npos) {
    if (!read_more()) return std::nullopt;
  }
  auto message = wire::decode(std::string_view(received_).substr(0, end));
  received_.erase(0, end + 1);
  return message;
}

bool Channel::send(const wire::Message& message) {
  std::string line = wire::encode(message);
  std::size_t sent = 0;
  while (sent < line.size()) {
    ssize_t size = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    sent += static_cast<std::size_t>(size);
  }
  return true;
}

int Channel::take_descriptor() {
  int descriptor = descriptor_;
  descriptor_ = -1;
  return descriptor;
}

bool Channel::hung_up() const {
  pollfd entry{fd_, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace instr
