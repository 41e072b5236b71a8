#include "core/base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/format.h"
#include "core/base/output_file.h"
#include "core/base/text.h"

namespace instr {

namespace {

std::mutex output_mutex;
int output_error = 0;             // errno of the first write that failed
bool is_output_terminal = false;  // false before open_standard_streams()

constexpr int kDefaultWidth = 80;

bool is_set(const EnvironmentLookup& environment, const std::string& name) {
  auto value = environment(name);
  return value && !value->empty();
}

bool is_dumb(const EnvironmentLookup& environment) {
  auto term = environment("TERM");
  return !term || term->empty() || *term == "dumb";
}

constexpr std::string_view kPlain = "\x1b[0m";

const char* escape_sequence(Style style) {
  switch (style) {
    case Style::kHeading: return "\x1b[1m";
    case Style::kDim: return "\x1b[2m";
    case Style::kGood: return "\x1b[32m";
    case Style::kBad: return "\x1b[31m";
    case Style::kWarning: return "\x1b[33m";
  }
  return "";
}

constexpr std::size_t kMaxLogBytes = 4000;
constexpr int kMaxLogLines = 20;

}  // namespace

void open_standard_streams() {
  for (int fd = 0; fd < 3; ++fd) {
    // Opened in the wrong direction, so that using it fails, as with a closed one. open() takes the
    // lowest free number, which is this one.
    const bool is_closed = ::fcntl(fd, F_GETFD) < 0 && errno == EBADF;
    if (is_closed) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  is_output_terminal = ::isatty(STDOUT_FILENO) == 1;
  // write() then reports the error.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

bool print_output(std::string_view text) {
  std::lock_guard lock(output_mutex);
  if (output_error != 0) return false;
  // Formats for other programs stay as they are in a file or pipe.
  output_error = is_output_terminal
                     ? write_all(STDOUT_FILENO, with_visible_controls(text, true)).error
                     : write_all(STDOUT_FILENO, text).error;
  return output_error == 0;
}

void print_message(std::string_view text) {
  write_all(STDERR_FILENO, with_visible_controls(text, false));
}

ExitStatus refuse(const Errors& errors) {
  for (const Error& error : errors) print_message("error: " + to_string(error) + "\n");
  return kBadSetup;
}

int finish_output(int status, int failed) {
  std::lock_guard lock(output_mutex);
  // Some file systems report only now that there is no space.
  const bool closed = ::close(STDOUT_FILENO) == 0;
  if (!closed && output_error == 0) output_error = errno;
  if (output_error == 0) return status;
  if (output_error == EPIPE) return status == kGood ? kReaderLeft : status;
  refuse(write_error("standard output", output_error));
  return status == kInterrupted ? status : failed;
}

bool use_color(ColorMode mode, bool is_terminal, const EnvironmentLookup& environment) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  if (is_set(environment, "NO_COLOR")) return false;
  if (is_set(environment, "CLICOLOR_FORCE") && environment("CLICOLOR_FORCE") != "0") return true;
  return is_terminal && !is_dumb(environment) && environment("CLICOLOR") != "0";
}

int terminal_width(int fd, const EnvironmentLookup& environment) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (auto columns = environment("COLUMNS")) {
    if (const int width = parse_number<int>(*columns).value_or(0); width > 0) return width;
  }
  return kDefaultWidth;
}

Terminal inspect_terminal(int fd, ColorMode mode, const EnvironmentLookup& environment) {
  Terminal terminal;
  terminal.is_terminal = isatty(fd) == 1;
  terminal.color = use_color(mode, terminal.is_terminal, environment);
  terminal.live = terminal.is_terminal && !is_dumb(environment);
  if (terminal.is_terminal) terminal.width = terminal_width(fd, environment);
  return terminal;
}

std::size_t style_length(std::string_view text) {
  if (!text.starts_with('\x1b')) return 0;
  if (text.starts_with(kPlain)) return kPlain.size();
  for (const Style style :
       {Style::kHeading, Style::kDim, Style::kGood, Style::kBad, Style::kWarning}) {
    const std::string_view sequence = escape_sequence(style);
    if (text.starts_with(sequence)) return sequence.size();
  }
  return 0;
}

std::string styled(std::string_view text, Style style, bool color) {
  if (!color || text.empty()) return std::string(text);
  return escape_sequence(style) + std::string(text) + std::string(kPlain);
}

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
