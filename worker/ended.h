// Replies for a failed measurement: what a child's wait status says about its snippet.
#pragma once

#include <string>

#include "worker/wire.h"

namespace instr {

// `kind`: as FailureKind's names.
wire::Message failed(const char* kind, const std::string& message);

wire::Message crashed(int signal, bool stack_overflow);
wire::Message exited(int status);

// What the native worker writes to the snippet's output before it ends of that.
inline constexpr const char* kStackOverflow = "instr_bench: stack overflow";

// The snippet ended its process, or something outside did. `status` as from waitpid; `output`: the
// snippet's own.
wire::Message ended_early(int status, const std::string& output);

}  // namespace instr
