// The one place that writes standard output, for a command's results, and standard error, for
// messages (only the progress line is written elsewhere, in core/engine/progress).
//
// Nothing is lost silently: the first error of standard output is kept, nothing is written after
// it, and finish_output() makes it the program's status.
#pragma once

#include <string_view>

#include "core/base/exit_status.h"

namespace instr {

// To be called first in main(). A closed descriptor 0, 1 or 2 stays one that cannot be used, so
// that no file opened later takes its place; a reader that has left and a file that may not grow
// are errors, not the end of the process.
void open_standard_streams();

// Writes all of `text` to standard output immediately. False if this or an earlier write failed:
// the caller may as well stop printing.
bool print_output(std::string_view text);

// Writes a message to standard error; if that fails, there is nowhere left to report it.
void print_message(std::string_view text);

// Closes standard output. `status` if everything was written. If the reader has left (`| head`),
// kGood becomes kReaderLeft and any other status stays; if something else failed, reports it and
// returns `failed`.
int finish_output(int status, int failed = kBadSetup);

}  // namespace instr
