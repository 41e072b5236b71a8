// The reply about a measurement, from its child's result and wait status.
#pragma once

#include <string>

#include "worker/children.h"
#include "worker/counted/run_snippet.h"
#include "worker/wire.h"

namespace instr {

// Returns the counts in the order of the events' names: "6013 12 4".
std::string counts_text(const Events& events);

// `output`: the snippet's. `profile`: the name of the last profile. The caller adds the fields of
// the empty loop.
wire::Message make_reply(const RunRequest& request, const RunResult& result, const Ended& ended,
                         const std::string& output, const std::string& profile);

}  // namespace instr
