// An unforeseen exception still ends the program with a line on standard error and a documented
// status.
#pragma once

namespace instr {

// From here on an exception that escapes a thread ends the process immediately, with `failed`.
void end_with_last_resort(int failed);

// Reports the exception that is being handled.
void report_exception() noexcept;

// The result of `program`; `failed` if an exception escapes it. A template, since whatever would
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
