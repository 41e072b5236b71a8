// What no part of the program has foreseen still ends it with a line on standard error and a status
// that is documented.
#pragma once

namespace instr {

// From here on an exception that escapes a thread ends the process with `failed`, at once.
void end_with_last_resort(int failed);

// Says what the exception is that is being handled.
void report_exception() noexcept;

// What `program` gives; `failed` if an exception escapes it. A template, since whatever would
// hold the program may itself need memory.
template <class Program>
int with_last_resort(int failed, const Program& program) {
  end_with_last_resort(failed);
  try {
    return program();
  } catch (...) {
    report_exception();
    return failed;
  }
}

}  // namespace instr
