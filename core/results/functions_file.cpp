#include "core/results/functions_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/results/json_reader.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

constexpr std::size_t kMinNumbers = 2;  // of a function: instructions and calls

// Reads the cost of one function: returns its name and sets its numbers, at most `max` of them;
// further ones are from a later version.
Expected<const SideName*> read_cost(const SideFile& file, int line, JsonValue json, std::size_t max,
                                    std::vector<double>& numbers) {
  numbers.clear();
  simdjson::dom::array parts;
  if (json.get(parts) != simdjson::SUCCESS) return file.unreadable(line);
  std::optional<std::uint64_t> name;
  for (const JsonValue part : parts) {
    if (!name) {
      name = value_as<std::uint64_t>(part);
      if (!name) return file.unreadable(line);
      continue;
    }
    if (numbers.size() == max) break;
    const auto number = value_as<double>(part);
    if (!number) return file.unreadable(line);
    numbers.push_back(*number);
  }
  if (numbers.size() < kMinNumbers) return file.unreadable(line);
  if (*name >= file.names().size()) {
    return file.broken(line, fmt::format("function number {} has no name", *name));
  }
  return &file.names()[*name];
}

// Calls `on_cost` for each function in a measurement's line, with its name, its numbers and the
// names of all events.
template <class OnCost>
Expected<void> read_costs(const Expected<JsonValue>& json, const SideFile& file,
                          const SideLine& line, const OnCost& on_cost) {
  const auto functions = json ? member(*json, "functions") : std::nullopt;
  simdjson::dom::array costs;
  if (!functions || functions->get(costs) != simdjson::SUCCESS) return file.unreadable(line.line);
  std::vector<std::string> events;
  for (const JsonValue event : items_of(*json, "events")) {
    const auto name = value_as<std::string_view>(event);
    if (!name) return file.unreadable(line.line);
    events.emplace_back(*name);
  }
  std::vector<double> numbers;
  for (const JsonValue cost : costs) {
    TRY_ASSIGN(const auto name,
               read_cost(file, line.line, cost, kMinNumbers + events.size(), numbers));
    on_cost(*name, numbers, events);
  }
  return {};
}

// Adds the calls in a measurement's line to its functions.
Expected<void> read_calls(JsonValue json, const SideFile& file, const SideLine& line,
                          std::vector<FunctionCost>& functions) {
  for (const JsonValue call : items_of(json, "calls")) {
    std::vector<double> numbers;
    simdjson::dom::array parts;
    if (call.get(parts) != simdjson::SUCCESS) return file.unreadable(line.line);
    for (const JsonValue part : parts) numbers.push_back(value_as<double>(part).value_or(-1));
    if (numbers.size() < 4) return file.unreadable(line.line);
    const auto places = static_cast<double>(functions.size());
    for (const double place : {numbers[0], numbers[1]}) {
      if (!(place >= 0 && place < places)) {
        return file.broken(line.line, fmt::format("a call names function {}", place));
      }
    }
    functions[static_cast<std::size_t>(numbers[0])].callees.push_back(
        {static_cast<std::size_t>(numbers[1]), numbers[2], numbers[3]});
  }
  return {};
}

Expected<std::vector<FunctionCost>> costs_from(JsonReader& reader, const SideFile& file,
                                               const SideLine& line) {
  std::vector<FunctionCost> costs;
  const auto add = [&costs](const SideName& name, const std::vector<double>& numbers,
                            const std::vector<std::string>& events) {
    costs.push_back({name.function, name.object, numbers[0], numbers[1]});
    for (std::size_t i = kMinNumbers; i < numbers.size(); ++i) {
      if (numbers[i] != 0) costs.back().events[events[i - kMinNumbers]] = numbers[i];
    }
  };
  const auto json = reader.read(line.text);
  TRY(read_costs(json, file, line, add));
  TRY(read_calls(*json, file, line, costs));
  return costs;
}

Expected<FunctionsSum> sum_from(JsonReader& reader, const SideFile& file, const SideLine& line) {
  FunctionsSum sum;
  const auto add = [&sum](const SideName&, const auto& numbers, const auto&) {
    sum.add(numbers[0]);
  };
  return read_costs(reader.read(line.text), file, line, add).map([&sum] { return sum; });
}

// Collects the events that any of the functions has.
std::vector<std::string> collect_events(const std::vector<FunctionCost>& functions) {
  std::set<std::string> events;
  for (const FunctionCost& cost : functions) {
    for (const auto& [name, count] : cost.events) events.insert(name);
  }
  return {events.begin(), events.end()};
}

// ",310,0,0.5"
std::string events_text(const FunctionCost& cost, const std::vector<std::string>& events) {
  std::string text;
  std::string zeros;
  for (const std::string& event : events) {
    const auto count = cost.events.find(event);
    if (count == cost.events.end() || count->second == 0) {
      zeros += ",0";
    } else {
      text += std::exchange(zeros, "") + fmt::format(",{}", count->second);
    }
  }
  return text;
}

// ",\"calls\":[[0,1,2,1100]]"
std::string calls_text(const std::vector<FunctionCost>& functions) {
  std::string text;
  for (std::size_t caller = 0; caller < functions.size(); ++caller) {
    for (const CallCost& call : functions[caller].callees) {
      text += fmt::format("{}[{},{},{},{}]", text.empty() ? "" : ",", caller, call.callee,
                          call.calls, call.ir);
    }
  }
  return text.empty() ? "" : ",\"calls\":[" + text + "]";
}

Expected<FunctionsOf> functions_in(std::shared_ptr<SideFile> file, const std::string& header,
                                   Incomplete incomplete, const OnSum& on_sum) {
  auto reader = std::make_shared<JsonReader>();
  OnSideLine on_line;
  if (on_sum) {
    on_line = [&](const std::string& key, const SideLine& line) {
      return sum_from(*reader, *file, line).and_then([&](const FunctionsSum& sum) {
        return sum.is_empty() ? Expected<void>() : on_sum(key, sum);
      });
    };
  }
  return file->index(header, incomplete, on_line).map([&]() -> FunctionsOf {
    return [file, reader](const std::string& key) -> Expected<std::vector<FunctionCost>> {
      TRY_ASSIGN(auto line, file->find(key));
      if (!line) return std::vector<FunctionCost>{};
      return costs_from(*reader, *file, *line);
    };
  });
}

}  // namespace

fs::path functions_path(const fs::path& file) { return side_path(file, kFunctionsFile); }

std::string next_functions(SideLines& lines, const std::string& key,
                           const std::vector<FunctionCost>& functions) {
  const std::vector<std::string> events = collect_events(functions);
  std::string costs;
  for (const FunctionCost& cost : functions) {
    costs += fmt::format("{}[{},{},{}{}]", costs.empty() ? "" : ",",
                         lines.number_of(cost.function, cost.object), cost.ir, cost.calls,
                         events_text(cost, events));
  }
  const std::string named =
      events.empty() ? "" : "\"events\":" + to_line(nlohmann::ordered_json(events)) + ",";
  return lines.next(key,
                    fmt::format("{}\"functions\":[{}]{}", named, costs, calls_text(functions)));
}

void FunctionsSum::add(double ir) {
  ++functions_;
  total_ += ir;
  size_ += std::fabs(ir);
}

bool FunctionsSum::is(double ir) const { return std::fabs(total_ - ir) <= 1e-6 + size_ * 1e-11; }

Expected<FunctionsOf> open_functions(const fs::path& file, const std::string& header,
                                     Incomplete incomplete, const OnSum& on_sum) {
  TRY_ASSIGN(auto side, read_side_file(file, kFunctionsFile));
  if (side) return functions_in(std::move(side), header, incomplete, on_sum);
  return [](const std::string&) { return std::vector<FunctionCost>{}; };
}

Expected<FunctionsOf> parse_functions(std::string bytes, const std::string& header,
                                      const std::string& name, Incomplete incomplete,
                                      const SideLimits& limits) {
  return functions_in(std::make_shared<SideFile>(kFunctionsFile, std::move(bytes), name, limits),
                      header, incomplete, nullptr);
}

}  // namespace instr
