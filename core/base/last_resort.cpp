#include "core/base/last_resort.h"

#include <unistd.h>

#include <exception>
#include <new>
#include <string>

#include "core/base/output.h"

namespace instr {

namespace {

int terminate_status = kBadSetup;

// The exception that is being handled, as a message.
void report_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    print_message("error: there is not enough memory\n");
  } catch (const std::exception& error) {
    print_message("error: this should not have happened: " + std::string(error.what()) + "\n");
  } catch (...) {
    print_message("error: this should not have happened\n");
  }
}

[[noreturn]] void end_process() {
  if (std::current_exception()) report_exception();
  ::_exit(terminate_status);
}

}  // namespace

int with_last_resort(int failed, const std::function<int()>& program) {
  terminate_status = failed;
  std::set_terminate(end_process);
  try {
    return program();
  } catch (...) {
    report_exception();
    return failed;
  }
}

}  // namespace instr
