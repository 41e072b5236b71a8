#include "core/base/error_log.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/base/output_file.h"

namespace instr {

namespace {

constexpr std::size_t kMaxLogBytes = 4000;
constexpr int kMaxLogLines = 20;

}  // namespace

Expected<std::unique_ptr<ErrorLog>> ErrorLog::start() {
  TRY_ASSIGN(auto ends, make_pipe());
  return std::unique_ptr<ErrorLog>(new ErrorLog(std::move(ends[0]), ends[1]));
}

ErrorLog::ErrorLog(Fd in, const Fd& out)
    : errors_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)), in_(std::move(in)) {
  ::dup2(out.get(), STDERR_FILENO);
  copier_ = std::jthread([this](const std::stop_token& stop) { copy(stop); });
}

std::string ErrorLog::finish() {
  if (copier_.joinable()) {
    ::dup2(errors_.get(), STDERR_FILENO);
    copier_.request_stop();
    copier_.join();
  }
  std::string end = end_.substr(end_.size() - std::min(end_.size(), kMaxLogBytes));
  for (auto lines = std::count(end.begin(), end.end(), '\n'); lines > kMaxLogLines; --lines) {
    end.erase(0, end.find('\n') + 1);
  }
  return end;
}

// A process that a build left behind may hold the pipe open, so the end is silence after `stop`.
void ErrorLog::copy(const std::stop_token& stop) {
  char buffer[4096];
  for (;;) {
    pollfd watch{in_.get(), POLLIN, 0};
    if (::poll(&watch, 1, 100) <= 0) {
      if (stop.stop_requested()) return;
      continue;
    }
    const ssize_t count = ::read(in_.get(), buffer, sizeof buffer);
    if (count <= 0) return;
    const std::string_view text(buffer, static_cast<std::size_t>(count));
    write_all(errors_.get(), text);
    end_ += text;
    if (end_.size() > 4 * kMaxLogBytes) end_.erase(0, end_.size() - kMaxLogBytes);
  }
}

}  // namespace instr
