#include "worker/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

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
  token_ = message ? message->get(wire::kToken) : "";
  return message;
}

bool Channel::send(wire::Message message) {
  if (!token_.empty()) message.fields[wire::kToken] = token_;
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

void Channel::move_out_of_reach() {
  constexpr int kLowest = 100;
  constexpr unsigned kNumbers = 900;  // available to any process
  unsigned random = 0;
  if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return;
  int hidden = fcntl(fd_, F_DUPFD_CLOEXEC, kLowest + static_cast<int>(random % kNumbers));
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (hidden >= 0 && nowhere >= 0) {
    dup3(nowhere, std::exchange(fd_, hidden), O_CLOEXEC);
  } else if (hidden >= 0) {
    close(hidden);
  }
  if (nowhere >= 0) close(nowhere);
}

bool Channel::hung_up() const {
  pollfd entry{fd_, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace instr
