// Reads the requests of a statement to CUDA's stand-ins, and their callers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.h"

namespace instr {

// Parses the worker's list of an iteration's events, a line each, and Valgrind's log with the
// functions that led to them: after a line "event N", the innermost first. Events without such
// functions have no caller.
std::vector<DeviceEvent> parse_device_events(const std::string& events, std::string_view log);

// True if the event copies data from the device.
bool reads_back(const DeviceEvent& event);

}  // namespace instr
