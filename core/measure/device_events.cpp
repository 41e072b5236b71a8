#include "core/measure/device_events.h"

#include <re2/re2.h>

#include <map>
#include <sstream>

#include "core/base/format.h"
#include "core/compile/cuda_host.h"
#include "core/profile/function_names.h"

namespace instr {

namespace {

// Returns the callers by the events' numbers.
std::map<std::size_t, std::string> parse_callers(std::string_view log) {
  static const RE2 kEvent(R"(\*\*\d+\*\* event (\d+))");
  static const RE2 kFrame(R"(==\d+==\s+(?:at|by) 0x[0-9A-F]+: (.*) \((?:in )?([^()]*)\))");
  static const RE2 kOperator(R"((at::_ops::\w+)::call\(.*)");
  std::map<std::size_t, std::string> callers;
  std::string* caller = nullptr;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    std::size_t number = 0;
    std::string function;
    std::string object;
    if (RE2::FullMatch(line, kEvent, &number)) *(caller = &callers[number]) = "";
    if (caller == nullptr || !RE2::FullMatch(line, kFrame, &function, &object)) continue;
    // The outermost operator, which comes last, is the one that the statement or autograd calls.
    if (RE2::FullMatch(function, kOperator, caller)) continue;
    const bool is_stand_in = object.find(kCudaHostFolder) != std::string::npos;
    if (caller->empty() && !is_stand_in) *caller = without_parameters(function);
  }
  return callers;
}

}  // namespace

std::vector<DeviceEvent> parse_device_events(const std::string& events, std::string_view log) {
  auto callers = parse_callers(log);
  std::vector<DeviceEvent> parsed;
  std::istringstream lines(events);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t function = line.rfind(' ') + 1;  // the last word is its name
    parsed.push_back({printable(line.substr(0, function) + demangle(line.substr(function))),
                      printable(callers[parsed.size()])});
  }
  return parsed;
}

bool reads_back(const DeviceEvent& event) { return event.text.ends_with(" device-to-host"); }

}  // namespace instr
