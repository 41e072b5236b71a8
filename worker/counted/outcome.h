// The reply about a measurement, derived from a child's page and wait status.
#pragma once

#include <string>

#include "worker/children.h"
#include "worker/counted/run_snippet.h"
#include "worker/wire.h"

namespace instr {

// "6013 12 4", in the order of the events' names.
std::string counts_text(const Events& events);

// `output`: the snippet's own. `profile`: name of the last profile. Without the fields of the empty
// loop, which the caller adds.
wire::Message outcome(const RunRequest& request, const RunResult& result, const Ended& ended,
                      const std::string& output, const std::string& profile);

}  // namespace instr
