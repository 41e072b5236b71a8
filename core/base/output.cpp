#include "core/base/output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "core/base/format.h"
#include "core/base/output_file.h"

namespace instr {

namespace {

std::mutex output_mutex;
int output_error = 0;             // errno of the first write that failed
bool is_output_terminal = false;  // false before open_standard_streams()

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

}  // namespace instr
