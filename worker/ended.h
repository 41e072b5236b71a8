// Replies about a failed measurement, from the wait status of its process.
#pragma once

#include <stdint.h>

#include <optional>
#include <string>

#include "worker/children.h"
#include "worker/wire.h"

namespace instr {

// `kind`: a name of core's FailureKind.
wire::Message failed(const char* kind, const std::string& message);

wire::Message crashed(int signal, bool stack_overflow);
wire::Message exited(int status);

// The failure of a statement that leaves the measured loop.
inline constexpr const char* kLeftEarly =
    "the statement leaves its loop before its iterations are over, as by longjmp(): it must end as "
    "it began";

// The native worker writes this to the snippet's output before a stack overflow ends it.
inline constexpr const char* kStackOverflow = "instr_bench: stack overflow";

// Returns the failure of a snippet whose host ended it; nothing if it ended by itself.
std::optional<wire::Message> find_cause(const Ended& ended, uint64_t memory_limit);

// The process ended before it reported a result. `status` is waitpid()'s, `output` the snippet's.
wire::Message ended_early(int status, const std::string& output);

}  // namespace instr
