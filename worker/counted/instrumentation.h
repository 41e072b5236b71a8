// Switches Callgrind's instrumentation, without which code runs several times faster and is not
// counted.
#pragma once

namespace instr {

// Each switch discards all translations of code. Does nothing if instrumentation is on already, or
// off.
void start_instrumentation();
void stop_instrumentation();

}  // namespace instr
