// The parts of a single count: functions with their self and inclusive costs, and their callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/profile/call_graph.h"
#include "core/profile/profile.h"
#include "core/report/run_report.h"
#include "core/results/measurement.h"

namespace instr {

struct ExplainedFunction {
  CodeName code;
  double self = 0;  // instructions per iteration
  double calls = 0;
  std::optional<double> inclusive;  // absent if unknown
  bool is_recursive = false;
  std::vector<Caller> callers;  // highest cost first
};

struct Explanation {
  std::string key;
  double total = 0;              // instructions per iteration
  std::uint64_t iterations = 0;  // iterations of the block that was profiled
  std::vector<ExplainedFunction>
      functions;  // highest self cost first; the sum may differ from `total`
  std::vector<DeviceEvent> device_events = {};  // Counted::device_events
  bool reads_device = false;
  bool has_calls = false;               // false: only self costs are known
  bool is_of_callers = false;           // lists only chosen functions, for their callers
  bool has_packages = false;            // the functions are Python's, and their objects places
  const char* unit = "function";        // the heading of the names
  const char* where = "object";         // the heading of the functions' objects
  const char* rest = "in no function";  // the name of costs outside all functions
};

// `counted` holds the self costs. `costs`: inclusive_costs() of the same block; null without a
// profile.
Explanation explain(const std::string& key, const Counted& counted,
                    const std::map<CodeName, InclusiveCost>* costs = nullptr);

// Explains by the calls of an interpreter. Following the calls costs, too: the sum exceeds the
// count.
Explanation explain_followed(const std::string& key, const Counted& counted,
                             const std::vector<FollowedFunction>& functions);

// Keeps only the functions with a wanted name, for their callers.
Explanation select_callers(Explanation explanation,
                           const std::function<bool(const std::string&)>& is_wanted);

enum class ExplainOrder { kSelf, kInclusive };

struct ExplainOptions {
  ExplainOrder order = ExplainOrder::kSelf;  // the order of a table's functions
  std::size_t max_functions = 25;            // the maximum in a table
  RenderOptions render = {};
};

// In one of document_formats(): a line for each function, the rest as one, so that self costs add
// up to the count; below, the callers of the first functions, or of all that were chosen. What does
// not fit the width is left out: first the library, then the shares. Text for a pipe is kPipeWidth
// wide. Records hold all functions with their full names, highest self cost first; in CSV each is
// followed by a line for each of its callers.
std::string explain_report(ReportFormat format, const Explanation& explanation,
                           const ExplainOptions& options = {});

// The costs of source lines. `total`: the count, in instructions per iteration; the lines need not
// add up to it. Records hold all lines, by file and place.
std::string lines_report(ReportFormat format, const std::string& key, double total,
                         const LineCosts& costs, const ExplainOptions& options);

// The parts of a call of a compiled function, by the functions of PyTorch that do each.

struct CallPart {
  std::string name;
  double ir = 0;  // instructions per iteration

  bool operator==(const CallPart&) const = default;
};

// Returns parts that add up to the count: guards, the search for the compiled code, that code with
// its kernels, backward(), and the rest. None if no compiled function was called, if calls are not
// known, or if compiled functions call each other, so that the parts overlap.
std::vector<CallPart> parts_of_compiled_call(const Explanation& explanation);

}  // namespace instr
