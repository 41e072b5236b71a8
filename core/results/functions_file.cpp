#include "core/results/functions_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLeastNumbers = 3;  // of a function: its own, instructions, calls

Expected<std::vector<FunctionCost>> costs_from(const SideFile& file, SideLine found) {
  Json& json = found.json;
  if (!json["functions"].is_array()) return file.unreadable(found.line);
  std::vector<std::string> events;
  if (json.contains("events") && json["events"].is_array()) {
    for (const Json& event : json["events"]) {
      if (!event.is_string()) return file.unreadable(found.line);
      events.push_back(event.get<std::string>());
    }
  }
  std::vector<FunctionCost> costs;
  for (const Json& cost : json["functions"]) {
    // Further numbers are from a later version.
    std::size_t known = std::min(cost.size(), kLeastNumbers + events.size());
    bool is_cost = cost.is_array() && known >= kLeastNumbers && cost[0].is_number_unsigned();
    for (std::size_t i = 1; is_cost && i < known; ++i) is_cost = cost[i].is_number();
    if (!is_cost) return file.unreadable(found.line);
    auto number = cost[0].get<std::uint64_t>();
    if (number >= file.names().size()) {
      return file.broken(found.line, fmt::format("function number {} has no name", number));
    }
    const SideName& name = file.names()[number];
    costs.push_back({name.function, name.object, cost[1].get<double>(), cost[2].get<double>()});
    for (std::size_t i = kLeastNumbers; i < known; ++i) {
      if (auto count = cost[i].get<double>(); count != 0) {
        costs.back().events[events[i - kLeastNumbers]] = count;
      }
    }
  }
  return costs;
}

// The events that any of the functions has.
std::vector<std::string> events_of(const std::vector<FunctionCost>& functions) {
  std::set<std::string> events;
  for (const FunctionCost& one : functions) {
    for (const auto& [name, count] : one.events) events.insert(name);
  }
  return {events.begin(), events.end()};
}

// ",310,0,0.5"
std::string events_text(const FunctionCost& cost, const std::vector<std::string>& events) {
  std::string text;
  std::string zeros;
  for (const std::string& event : events) {
    auto found = cost.events.find(event);
    if (found == cost.events.end() || found->second == 0) {
      zeros += ",0";
    } else {
      text += std::exchange(zeros, "") + fmt::format(",{}", found->second);
    }
  }
  return text;
}

Expected<FunctionsOf> functions_in(std::shared_ptr<SideFile> file, const std::string& header,
                                   Incomplete incomplete) {
  return file->index(header, incomplete).map([&file]() -> FunctionsOf {
    return [file](const std::string& key) -> Expected<std::vector<FunctionCost>> {
      auto found = file->of(key);
      if (!found) return tl::unexpected(found.error());
      if (!*found) return std::vector<FunctionCost>{};
      return costs_from(*file, **std::move(found));
    };
  });
}

}  // namespace

fs::path functions_path(const fs::path& file) { return side_path(file, kFunctionsFile); }

std::string next_functions(SideLines& lines, const std::string& key,
                           const std::vector<FunctionCost>& functions) {
  const std::vector<std::string> events = events_of(functions);
  std::string costs;
  for (const FunctionCost& cost : functions) {
    costs += fmt::format("{}[{},{},{}{}]", costs.empty() ? "" : ",",
                         lines.number_of(cost.function, cost.object), cost.ir, cost.calls,
                         events_text(cost, events));
  }
  const std::string named = events.empty() ? "" : "\"events\":" + to_line(Json(events)) + ",";
  return lines.next(key, fmt::format("{}\"functions\":[{}]", named, costs));
}

double total_of(const std::vector<FunctionCost>& functions) {
  double sum = 0;
  for (const FunctionCost& one : functions) sum += one.ir;
  return sum;
}

bool is_sum_of(double ir, const std::vector<FunctionCost>& functions) {
  double size = 0;
  for (const FunctionCost& one : functions) size += std::fabs(one.ir);
  return std::fabs(total_of(functions) - ir) <= 1e-6 + size * 1e-11;
}

Expected<FunctionsOf> open_functions(const fs::path& file, const std::string& header,
                                     Incomplete incomplete) {
  auto side = read_side_file(file, kFunctionsFile);
  if (!side) return tl::unexpected(side.error());
  if (*side) return functions_in(*std::move(side), header, incomplete);
  return [](const std::string&) { return std::vector<FunctionCost>{}; };
}

Expected<FunctionsOf> parse_functions(std::string bytes, const std::string& header,
                                      const std::string& name, Incomplete incomplete,
                                      const SideLimits& limits) {
  return functions_in(std::make_shared<SideFile>(kFunctionsFile, std::move(bytes), name, limits),
                      header, incomplete);
}

}  // namespace instr
