#include "core/measure/worker_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxMessageLength = std::size_t{16} << 20;

// Returns a token of fixed length, since it is on the worker's heap for a while; empty if the
// system has no randomness.
std::string new_token() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return {};
  return fmt::format("{:016x}", random);
}

}  // namespace

const char* to_string(Loss loss) {
  switch (loss) {
    case Loss::kClosed: return "it ended";
    case Loss::kTimedOut: return "it did not answer within its CPU time";
    case Loss::kIdle: return "it did not answer, and was idle";
    case Loss::kGarbled: return "it sent something other than a reply";
  }
  return "";
}

std::string late_text(Loss loss, std::chrono::milliseconds limit) {
  if (loss == Loss::kTimedOut) return stopped_text(CpuVerdict::kUsedUp, limit.count());
  if (loss == Loss::kIdle) return stopped_text(CpuVerdict::kIdle, limit.count());
  return "";
}

std::string load_crash_text(Loss loss, const std::string& log) {
  return std::string("loading the unit ended the worker, twice: ") + to_string(loss) +
         (log.empty() ? "" : "\n" + log);
}

std::chrono::milliseconds timeout_of(double seconds) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::clamp(seconds, 0.001, 1e9) * 1000));
}

std::chrono::milliseconds with_margin(std::chrono::milliseconds timeout) {
  return timeout + timeout / 2 + std::chrono::seconds(20);
}

Expected<std::pair<Link, Fd>> Link::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(std::string("cannot make a socket: ") + std::strerror(errno));
  }
  return std::pair{Link(Fd(ends[0])), Fd(ends[1])};
}

bool Link::send(const wire::Message& message, int passed) {
  const std::string whole = wire::encode(message);
  std::string_view text = whole;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  while (!text.empty()) {
    iovec piece{const_cast<char*>(text.data()), text.size()};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (passed >= 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
    }
    ssize_t sent = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    passed = -1;  // sent only with the first piece
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

ssize_t Link::receive_some(char* buffer, std::size_t size) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec piece{buffer, size};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* rights = count < 0 ? nullptr : CMSG_FIRSTHDR(&header);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return count;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
  descriptor_ = Fd(descriptor);
  return count;
}

Reply Link::request(const wire::Message& message, const Patience& patience, int passed) {
  wire::Message sent = message;
  const std::string token = sent.fields[wire::kToken] = new_token();
  if (token.empty() || !send(sent, passed)) return tl::unexpected(Loss::kClosed);
  auto reply = receive(patience);
  if (!reply) return reply;
  if (reply->get(wire::kToken) != token) return tl::unexpected(Loss::kGarbled);
  reply->fields.erase(wire::kToken);
  return reply;
}

Reply Link::receive(const Patience& patience) {
  auto deadline = Clock::now() + patience.interval;
  std::size_t looked_at = 0;
  for (;;) {
    auto end = received_.find('\n', looked_at);
    if (end != std::string::npos) {
      auto message = wire::decode(std::string_view(received_).substr(0, end));
      received_.erase(0, end + 1);
      if (!message) return tl::unexpected(Loss::kGarbled);
      return *std::move(message);
    }
    if (received_.size() > kMaxMessageLength) return tl::unexpected(Loss::kGarbled);
    looked_at = received_.size();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      const CpuVerdict verdict = patience.look();
      if (verdict == CpuVerdict::kUsedUp) return tl::unexpected(Loss::kTimedOut);
      if (verdict == CpuVerdict::kIdle) return tl::unexpected(Loss::kIdle);
      deadline = Clock::now() + patience.interval;
      continue;
    }
    pollfd watch{socket_.get(), POLLIN, 0};
    int ready = ::poll(&watch, 1, static_cast<int>(std::min<decltype(left)>(left, 60'000)));
    if (ready <= 0) continue;
    char buffer[16384];
    ssize_t count = receive_some(buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return tl::unexpected(Loss::kClosed);
    received_.append(buffer, static_cast<std::size_t>(count));
  }
}

void Link::hang_up() { ::shutdown(socket_.get(), SHUT_WR); }

void Link::abort() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace instr
