#include "core/base/exit_status.h"

#include <fmt/core.h>

namespace instr {

ExitStatus refuse(const Errors& errors) {
  for (const auto& error : errors) fmt::print(stderr, "error: {}\n", to_string(error));
  return kBadSetup;
}

ExitStatus refuse(const Error& error) { return refuse(Errors{error}); }

}  // namespace instr
