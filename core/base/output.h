// The one place that writes standard output, which carries what a command was asked for, and
// standard error, which carries messages (the progress line alone is core/engine/progress).
//
// Nothing is lost silently: the first error of standard output is kept, nothing is written after
// it, and finish_output() makes it the program's status.
#pragma once

#include <string_view>

#include "core/base/exit_status.h"

namespace instr {

// To be called first in main(). A closed descriptor 0, 1 or 2 stays one that cannot be used, so
// that no file that is opened later takes its place; a reader that has left and a file that may not
// grow are errors, not the end of the process.
void open_standard_streams();

// Writes all of `text` to standard output at once. False if it or something before it could not
// be written: whoever goes on printing may stop.
bool print_output(std::string_view text);

// Writes a message to standard error; if that cannot be written, nobody is left to tell.
void print_message(std::string_view text);

// Closes standard output. `status` if everything was written. If the reader has left (`|
// head`) a status that says something else stays, and kGood becomes kReaderLeft; if something
// else failed, says so and gives `failed`.
int finish_output(int status, int failed = kBadSetup);

}  // namespace instr
