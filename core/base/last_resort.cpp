#include "core/base/last_resort.h"

#include <unistd.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "core/base/exit_status.h"
#include "core/base/output.h"
#include "core/base/private_folder.h"

namespace instr {

namespace {

int terminate_status = kBadSetup;

[[noreturn]] void end_process() {
  static bool is_ending = false;
  if (std::exchange(is_ending, true)) ::_exit(terminate_status);
  if (std::current_exception()) report_exception();
  PrivateFolder::remove_all();
  ::_exit(terminate_status);
}

}  // namespace

void end_with_last_resort(int failed) {
  terminate_status = failed;
  std::set_terminate(end_process);
}

void report_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    print_message("error: there is not enough memory\n");
  } catch (const std::exception& error) {
    print_message("error: internal error: please report it: " + std::string(error.what()) + "\n");
  } catch (...) {
    print_message("error: internal error: please report it\n");
  }
}

}  // namespace instr
