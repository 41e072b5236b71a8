#include "core/base/exit_status.h"

#include "core/base/output.h"

namespace instr {

ExitStatus refuse(const Errors& errors) {
  for (const auto& error : errors) print_message("error: " + to_string(error) + "\n");
  return kBadSetup;
}

}  // namespace instr
