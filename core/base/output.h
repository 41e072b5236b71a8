// The one place that writes standard output, for a command's results, and standard error, for
// messages (only the progress line is written elsewhere, in core/run/progress).
//
// Text of others cannot move the cursor or change colours: in messages, and on a terminal, control
// characters are shown as their codes.
//
// The first error of standard output is kept, nothing is written after it, and finish_output()
// makes it the program's status.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/process.h"
#include "core/base/program_end.h"

namespace instr {

// To be called first in main(). Replaces each closed descriptor of 0, 1 and 2 by one that cannot be
// used, so that no file opened later takes its place; makes a closed reader and a file that may not
// grow errors, not the end of the process.
void open_standard_streams();

// Writes all of `text` to standard output immediately. Returns false if this or an earlier write
// failed: the caller may stop printing.
bool print_output(std::string_view text);

// Writes a message to standard error; a failure cannot be reported anywhere.
void print_message(std::string_view text);

// Closes standard output, and returns `status` if everything was written. If standard output was
// closed early (`| head`), kGood becomes kReaderLeft and any other status stays. Any other failure
// is reported, and returned as `failed`.
int finish_output(int status, int failed = kBadSetup);

// The output's destination: its width, and whether it takes colours and redrawn lines.

enum class ColorMode { kAuto, kAlways, kNever };

struct Terminal {
  bool is_terminal = false;
  bool color = false;
  bool live = false;  // a terminal on which a line can be erased and redrawn
  int width = 0;      // columns; 0: no limit (a pipe or a file)
};

// Returns the value of an environment variable; nothing if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

// ColorMode::kAlways and kNever decide alone. Otherwise NO_COLOR (not empty) means no,
// CLICOLOR_FORCE (neither empty nor 0) means yes, and else a terminal gets colours unless TERM=dumb
// or CLICOLOR=0.
bool use_color(ColorMode mode, bool is_terminal, const EnvironmentLookup& environment);

// The columns of the terminal at `fd`: the kernel's figure, else COLUMNS, else 80.
int terminal_width(int fd, const EnvironmentLookup& environment);

// The properties of `fd`.
Terminal inspect_terminal(int fd, ColorMode mode,
                          const EnvironmentLookup& environment = variable_value);

// Colours by meaning.
enum class Style { kHeading, kDim, kGood, kBad, kWarning };

// Returns the length of an escape sequence of styled() at the beginning of `text`; 0 without one.
std::size_t style_length(std::string_view text);

// Puts `text` between the escape sequences of `style`, unless it is empty or `color` is false.
std::string styled(std::string_view text, Style style, bool color);

// Keeps the end of what this program and its children write to standard error, for a report. While
// it exists, standard error is a pipe, from which a thread copies to the original standard error.
// At most one at a time.
class ErrorLog {
 public:
  static Expected<std::unique_ptr<ErrorLog>> start();
  ~ErrorLog() { finish(); }

  // Restores standard error. Returns the last lines.
  std::string finish();

 private:
  ErrorLog(Fd in, const Fd& out);
  void copy(const std::stop_token& stop);

  Fd errors_;  // the original standard error
  Fd in_;
  std::string end_;
  std::jthread copier_;
};

}  // namespace instr
