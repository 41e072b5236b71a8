#include "core/results/operators_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/results/results.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOperators = "operators";
constexpr double kNanoseconds = 1e9;  // of a second

Json seconds(std::uint64_t nanoseconds) {
  return json_number(static_cast<double>(nanoseconds) / kNanoseconds);
}

std::uint64_t nanoseconds(const Json& seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds.get<double>() * kNanoseconds));
}

}  // namespace

void add_operators(Json& line, const std::vector<OperatorTime>& operators) {
  for (const OperatorTime& one : operators) {
    line[kOperators].push_back({{"name", one.name},
                                {"on_device", one.is_on_device},
                                {"calls", one.calls},
                                {"self_time", seconds(one.self)},
                                {"total_time", seconds(one.total)}});
  }
}

std::vector<OperatorTime> parse_operators(const Json& line) {
  std::vector<OperatorTime> operators;
  const auto list = line.find(kOperators);
  if (list == line.end()) return operators;
  for (const Json& one : *list) {
    try {
      operators.push_back({one.at("name"), one.at("on_device"), one.at("calls"),
                           nanoseconds(one.at("self_time")), nanoseconds(one.at("total_time"))});
    } catch (const Json::exception&) {
      continue;
    }
  }
  return operators;
}

}  // namespace instr
