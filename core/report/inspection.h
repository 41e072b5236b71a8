// The files that --dump writes for a variant: TorchScript's graphs, the operators' times as a table
// and as a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/variant.h"

namespace instr {

namespace wire {
struct Message;
}

// The parts that --dump names.
struct DumpParts {
  bool graph = false;
  bool profile = false;
  bool trace = false;

  bool any() const { return graph || profile || trace; }
};

// One call of an operator, or one kernel of a device; nanoseconds since the first one began.
struct OperatorCall {
  std::string name;
  std::uint64_t start = 0;
  std::uint64_t duration = 0;
  std::uint64_t thread = 0;
  bool is_on_device = false;
};

// From the worker's lines (worker/wire.h), ordered by start; other lines are ignored.
std::vector<OperatorCall> parse_calls(std::string_view lines);

struct OperatorTime {
  std::string name;
  bool is_on_device = false;
  std::uint64_t calls = 0;
  std::uint64_t self = 0;   // nanoseconds, without the operators it calls
  std::uint64_t total = 0;  // with them; for recursive calls, the outermost
};

// By name and device, the greatest self time first.
std::vector<OperatorTime> times_by_operator(const std::vector<OperatorCall>& calls);

// "operator  calls  self  share  total", aligned.
std::string operator_table(const std::vector<OperatorTime>& times);

// As the JSON that chrome://tracing and Perfetto open.
std::string chrome_trace(const std::vector<OperatorCall>& calls, const std::string& title);

// Writes the requested parts of the worker's reply to `inspect` into that folder: graph.before.txt,
// graph.after.txt and counters.txt (of TorchScript), profile.txt, trace.json.
Expected<void> write_dump(const std::filesystem::path& folder, const DumpParts& parts,
                          const Variant& variant, const wire::Message& inspected);

}  // namespace instr
