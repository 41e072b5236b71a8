// Replies for a measurement that came to no good: what a child's wait status says of its snippet.
#pragma once

#include <string>

#include "worker/wire.h"

namespace instr {

// `kind`: as FailureKind's names.
wire::Message failed(const char* kind, const std::string& message);

wire::Message crashed(int signal, bool stack_overflow);
wire::Message exited(int status);

// The snippet ended its process, or something outside did. `status` as of waitpid; `output`: what
// the snippet printed.
wire::Message ended_early(int status, const std::string& output);

}  // namespace instr
