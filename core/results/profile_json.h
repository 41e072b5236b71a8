// The JSON of a measurement's functions, call tree and costs of lines. The only code that knows it:
//
//   "functions":[[0,1200.5,2],...]  each function's number, and its instructions and calls per
//                                   iteration, greatest cost first
//   "events":["D1mr","Dr"]          with simulated caches or branches: the events whose values
//                                   follow in "functions", without zeros at the end
//   "calls":[[0,1,2,1100],...]      caller and callee, by their indices in "functions", the calls
//                                   and their inclusive instructions
//   "call_tree":{"iterations":100,"function":[0,...],"depth":[0,1,2,1,...],"self":[1200,...],
//                "calls":[0,100,...],"places":[[1,"quick.cpp:14"],...]}
//     a number for each node: its function (an empty name stands for the code without symbols of a
//     library); its depth below the root, depth first; its own instructions and its calls, both in
//     all these iterations. "places" are the beginnings of functions, if known
//   "lines":{"iterations":100,"file":[0,...],"line":[14,...],"self":[1200,...],
//            "inclusive":[1200,null,...],"text":["return a * b;",...]}
//     an entry for each line, by file and line: the number of the file, whose name has no library;
//     the instructions in all these iterations, without and with called functions (null if that is
//     unknown); and the text at the time of the measurement
//   "device_events":[["launch stream=0 ... NAME","at::_ops::add_Tensor"],...]  the requests of an
//     iteration to CUDA's stand-ins, in order, with their callers
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/profile/call_tree.h"
#include "core/profile/profile.h"
#include "core/results/json_reader.h"
#include "core/results/measurement.h"

namespace simdjson::dom {
class element;
}

namespace instr {

struct ProfileName {
  std::string function;
  std::string object;
};

// Returns the number of a name, and the name with a number (nothing if there is none).
using NumberOfName =
    std::function<std::size_t(const std::string& function, const std::string& object)>;
using NameOfNumber = std::function<std::optional<ProfileName>(std::uint64_t number)>;

// Adds the members "functions", "events" and "calls" to a measurement's line.
void add_functions(nlohmann::ordered_json& line, const std::vector<FunctionCost>& functions,
                   const NumberOfName& number_of);

nlohmann::ordered_json to_json(const CallTree& tree, const NumberOfName& number_of);
nlohmann::ordered_json to_json(const LineCosts& costs, const NumberOfName& number_of);

nlohmann::ordered_json to_json(const std::vector<DeviceEvent>& events);

// Parses the functions in a measurement's line; nothing if they are malformed, or a number has no
// name.
std::optional<std::vector<FunctionCost>> parse_functions(simdjson::dom::element line,
                                                         const NameOfNumber& find_name);

// Parses an object as above; null if it is malformed, or a number has no name.
std::shared_ptr<const CallTree> parse_call_tree(simdjson::dom::element json,
                                                const NameOfNumber& find_name);
std::shared_ptr<const LineCosts> parse_line_costs(simdjson::dom::element json,
                                                  const NameOfNumber& find_name);
// Parses an array as above; nothing if it is malformed.
std::optional<std::vector<DeviceEvent>> parse_device_events(simdjson::dom::element json);

struct CostSum {
  double total = 0;
  double size = 0;  // the sum of the absolute values, for the rounding of the total
};

// Adds up the instructions of the functions in a measurement's line, without parsing all of it;
// nothing if they are malformed.
std::optional<CostSum> sum_functions(simdjson::dom::element line);

// The reports of compilers and the times by operator as JSON.

// {"graph_breaks": [{"place", "reason", "count"}, ...], "recompilations": the same,
// "unlowered": {name: number}, "choices": [{"chosen": name, "times": {name: nanoseconds},
// "failures": {name: reason}}, ...], "counters": {group: {name: number}}}, without empty members.
nlohmann::ordered_json to_json(const CompilerReport& report);

// {"name", "on_device", "calls", "self", "total"}, times in nanoseconds.
nlohmann::ordered_json to_json(const OperatorTime& time);

// Reads what to_json() makes; malformed parts are left out.
CompilerReport compiler_from(JsonValue json);

std::vector<OperatorTime> operators_from(const std::vector<JsonValue>& list);

// Read the last members of a report.
std::map<std::string, std::uint64_t> unlowered_from(JsonValue json);
std::vector<GraphChoice> choices_from(JsonValue json);
std::map<std::string, std::map<std::string, double>> counters_from(JsonValue json);

}  // namespace instr
