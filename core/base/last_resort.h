// Ends the program after an unforeseen exception with a line on standard error and a documented
// status.
#pragma once

namespace instr {

// Makes an exception that escapes a thread end the process immediately, with the status `failed`.
void end_with_last_resort(int failed);

// Reports the exception that is being handled on standard error.
void report_exception() noexcept;

// Returns the result of `program`, or `failed` if an exception escapes it. A template, since a
// std::function may itself need memory.
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
