// The one place that writes standard output, for a command's results, and standard error, for
// messages (only the progress line is written elsewhere, in core/run/progress).
//
// Text of others cannot move the cursor or change colours: in messages, and on a terminal, control
// characters are shown as their codes.
//
// The first error of standard output is kept, nothing is written after it, and finish_output()
// makes it the program's status.
#pragma once

#include <string_view>

#include "core/base/exit_status.h"

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

}  // namespace instr
