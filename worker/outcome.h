// What is told about a measurement: the reply that a child's page and wait status amount to.
#pragma once

#include <string>

#include "worker/children.h"
#include "worker/run.h"
#include "worker/wire.h"

namespace instr {

// "6013 12 4", in the order of the events' names.
std::string counts_text(const Events& events);

// `output`: what the snippet printed. `profile`: name of the last profile. Without the empty
// loop's, which the caller adds.
wire::Message outcome(const RunRequest& request, const RunResult& result, const Ended& ended,
                      const std::string& output, const std::string& profile);

}  // namespace instr
