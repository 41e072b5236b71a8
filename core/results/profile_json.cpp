#include "core/results/profile_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/results/json_reader.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNumbers = 3;  // a function's number, instructions and calls

constexpr std::uint64_t kNoName = std::numeric_limits<std::uint64_t>::max();

// Appends the values of these events, without zeros at the end.
void add_events(Json& item, const FunctionCost& cost, const std::set<std::string>& events) {
  for (const std::string& event : events) {
    const auto count = cost.events.find(event);
    item.push_back(json_number(count == cost.events.end() ? 0 : count->second));
  }
  while (item.size() > kNumbers && item.back() == 0) item.erase(item.size() - 1);
}

bool is_index(double number, std::size_t size) {
  return number >= 0 && number < static_cast<double>(size);
}

// Adds the calls in a measurement's line to its functions; returns false if they are malformed.
bool add_calls(JsonValue line, std::vector<FunctionCost>& functions) {
  for (const JsonValue item : items_of(line, "calls")) {
    const auto call = read_values<double>(item);
    if (!call || call->size() != 4) return false;
    const double caller = (*call)[0], callee = (*call)[1];
    if (!is_index(caller, functions.size()) || !is_index(callee, functions.size())) return false;
    functions[static_cast<std::size_t>(caller)].callees.push_back(
        {static_cast<std::size_t>(callee), (*call)[2], (*call)[3]});
  }
  return true;
}

CodeName to_code(ProfileName name) {
  if (name.function.empty()) return code_name("0x0", name.object);
  return {std::move(name.function), std::move(name.object), true};
}

// Makes the nodes with their costs and calls, and with parents by their depths; returns false if
// the lists are malformed or not depth first.
bool set_nodes(JsonValue json, std::vector<CallNode>& nodes) {
  const auto depths = read_column<std::uint64_t>(json, "depth");
  const auto self = read_column<std::int64_t>(json, "self");
  const auto calls = read_column<std::uint64_t>(json, "calls");
  if (!depths || !self || !calls || depths->empty()) return false;
  if (self->size() != depths->size() || calls->size() != depths->size()) return false;
  std::vector<std::size_t> way;  // the nodes from the root to the previous one
  for (std::size_t i = 0; i < depths->size(); ++i) {
    const std::uint64_t depth = (*depths)[i];
    if (depth > way.size() || (depth == 0) != (i == 0)) return false;
    way.resize(depth);
    CallNode& node = nodes.emplace_back();
    node.parent = way.empty() ? 0 : way.back();
    node.self = (*self)[i];
    node.calls = (*calls)[i];
    way.push_back(i);
  }
  return true;
}

using Known = std::unordered_map<std::uint64_t, std::size_t>;  // functions by their numbers

// Sets the functions; returns false if a name is missing, or the root is not the statement.
bool set_functions(JsonValue json, const NameOfNumber& find_name, CallTree& tree, Known& known) {
  const auto numbers = read_column<std::uint64_t>(json, "function");
  if (!numbers || numbers->size() != tree.nodes.size()) return false;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    auto [entry, is_new] = known.try_emplace((*numbers)[i], tree.functions.size());
    if (is_new) {
      auto name = find_name((*numbers)[i]);
      if (!name) return false;
      tree.functions.push_back(to_code(*std::move(name)));
    }
    tree.nodes[i].function = entry->second;
  }
  return tree.functions.front().is_snippet();
}

// Sets the places; returns false if they are malformed, or a function is unknown.
bool set_places(JsonValue json, const Known& known, CallTree& tree) {
  for (const JsonValue item : items_of(json, "places")) {
    const auto parts = items_of(item);
    if (parts.size() != 2) return false;
    const auto number = value_as<std::uint64_t>(parts[0]);
    const auto place = value_as<std::string_view>(parts[1]);
    const auto function = number ? known.find(*number) : known.end();
    if (!place || function == known.end()) return false;
    tree.places.resize(tree.functions.size());
    tree.places[function->second] = *place;
  }
  return true;
}

}  // namespace

void add_functions(Json& line, const std::vector<FunctionCost>& functions,
                   const NumberOfName& number_of) {
  std::set<std::string> events;
  for (const FunctionCost& cost : functions) {
    for (const auto& [name, count] : cost.events) events.insert(name);
  }
  if (!events.empty()) line["events"] = events;
  Json& costs = line["functions"] = Json::array();
  Json calls = Json::array();
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const FunctionCost& cost = functions[i];
    costs.push_back(
        {number_of(cost.function, cost.object), json_number(cost.ir), json_number(cost.calls)});
    add_events(costs.back(), cost, events);
    for (const CallCost& call : cost.callees) {
      calls.push_back({i, call.callee, json_number(call.calls), json_number(call.ir)});
    }
  }
  if (!calls.empty()) line["calls"] = std::move(calls);
}

Json to_json(const CallTree& tree, const NumberOfName& number_of) {
  std::vector<std::size_t> numbers;
  for (const CodeName& code : tree.functions) {
    numbers.push_back(number_of(code.has_symbol ? code.function : "", code.object));
  }
  Json functions = Json::array(), depths = Json::array();
  Json self = Json::array(), calls = Json::array();
  std::vector<std::size_t> depth;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    depth.push_back(i == 0 ? 0 : depth[node.parent] + 1);
    functions.push_back(numbers[node.function]);
    depths.push_back(depth.back());
    self.push_back(node.self);
    calls.push_back(node.calls);
  }
  Json json{{"iterations", tree.iterations},
            {"function", std::move(functions)},
            {"depth", std::move(depths)},
            {"self", std::move(self)},
            {"calls", std::move(calls)}};
  for (std::size_t i = 0; i < tree.places.size(); ++i) {
    if (!tree.places[i].empty()) json["places"].push_back({numbers[i], tree.places[i]});
  }
  return json;
}

Json to_json(const LineCosts& costs, const NumberOfName& number_of) {
  Json file = Json::array(), number = Json::array(), self = Json::array();
  Json inclusive = Json::array(), text = Json::array();
  for (const LineCost& cost : costs.lines) {
    file.push_back(number_of(cost.file, ""));
    number.push_back(cost.line);
    self.push_back(cost.self);
    inclusive.push_back(cost.inclusive ? Json(*cost.inclusive) : nullptr);
    text.push_back(cost.text);
  }
  return Json{{"iterations", costs.iterations},    {"file", std::move(file)},
              {"line", std::move(number)},         {"self", std::move(self)},
              {"inclusive", std::move(inclusive)}, {"text", std::move(text)}};
}

std::optional<std::vector<FunctionCost>> parse_functions(JsonValue line,
                                                         const NameOfNumber& find_name) {
  std::vector<FunctionCost> functions;
  const auto events = items_of(line, "events");
  for (const JsonValue item : items_of(line, "functions")) {
    const auto numbers = read_values<double>(item);
    if (!numbers || numbers->size() < kNumbers || numbers->size() > kNumbers + events.size()) {
      return std::nullopt;
    }
    auto name = find_name(value_as<std::uint64_t>(item.at(0)).value_or(kNoName));
    if (!name) return std::nullopt;
    FunctionCost& cost = functions.emplace_back(FunctionCost{
        std::move(name->function), std::move(name->object), (*numbers)[1], (*numbers)[2]});
    for (std::size_t i = kNumbers; i < numbers->size(); ++i) {
      const auto event = value_as<std::string_view>(events[i - kNumbers]);
      if (!event) return std::nullopt;
      if ((*numbers)[i] != 0) cost.events[std::string(*event)] = (*numbers)[i];
    }
  }
  if (!add_calls(line, functions)) return std::nullopt;
  return functions;
}

std::shared_ptr<const CallTree> parse_call_tree(JsonValue json, const NameOfNumber& find_name) {
  auto tree = std::make_shared<CallTree>();
  tree->iterations = member_as<std::uint64_t>(json, "iterations").value_or(0);
  Known known;
  const bool is_tree = tree->iterations != 0 && set_nodes(json, tree->nodes) &&
                       set_functions(json, find_name, *tree, known) &&
                       set_places(json, known, *tree);
  if (!is_tree) return nullptr;
  sum_up(tree->nodes);
  return tree;
}

Json to_json(const std::vector<DeviceEvent>& events) {
  Json json = Json::array();
  for (const DeviceEvent& event : events) json.push_back({event.text, event.caller});
  return json;
}

std::optional<std::vector<DeviceEvent>> parse_device_events(JsonValue json) {
  const auto list = json.get_array();
  if (list.error() != simdjson::SUCCESS) return std::nullopt;
  std::vector<DeviceEvent> events;
  for (const JsonValue item : list.value_unsafe()) {
    const auto parts = read_values<std::string_view>(item);
    if (!parts || parts->size() != 2) return std::nullopt;
    events.push_back({std::string((*parts)[0]), std::string((*parts)[1])});
  }
  return events;
}

std::shared_ptr<const LineCosts> parse_line_costs(JsonValue json, const NameOfNumber& find_name) {
  const auto files = read_column<std::uint64_t>(json, "file");
  const auto numbers = read_column<int>(json, "line");
  const auto self = read_column<std::int64_t>(json, "self");
  const auto inclusive = items_of(json, "inclusive");
  const auto texts = read_column<std::string_view>(json, "text");
  if (!files || !numbers || !self || !texts) return nullptr;
  for (std::size_t size : {numbers->size(), self->size(), inclusive.size(), texts->size()}) {
    if (size != files->size()) return nullptr;
  }
  auto costs = std::make_shared<LineCosts>();
  costs->iterations = member_as<std::uint64_t>(json, "iterations").value_or(0);
  if (costs->iterations == 0) return nullptr;
  for (std::size_t i = 0; i < files->size(); ++i) {
    auto name = find_name((*files)[i]);
    if (!name) return nullptr;
    LineCost& line = costs->lines.emplace_back();
    line.file = std::move(name->function);
    line.line = (*numbers)[i];
    line.self = (*self)[i];
    line.inclusive = value_as<std::int64_t>(inclusive[i]);
    line.text = (*texts)[i];
  }
  return costs;
}

std::optional<CostSum> sum_functions(JsonValue line) {
  CostSum sum;
  for (const JsonValue item : items_of(line, "functions")) {
    double ir = 0;
    if (item.at(1).get(ir) != simdjson::SUCCESS) return std::nullopt;
    sum.total += ir;
    sum.size += std::fabs(ir);
  }
  return sum;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBreakNotes = "graph_breaks";
constexpr const char* kRecompilations = "recompilations";
constexpr const char* kUnlowered = "unlowered";
constexpr const char* kChoices = "choices";
constexpr const char* kCounters = "counters";

void add_notes(Json& json, const char* name, const std::vector<CompilerNote>& notes) {
  for (const CompilerNote& note : notes) {
    json[name].push_back({{"place", note.place}, {"reason", note.reason}, {"count", note.count}});
  }
}

std::vector<CompilerNote> notes_from(JsonValue json, const char* name) {
  std::vector<CompilerNote> notes;
  for (const JsonValue note : items_of(json, name)) {
    const auto place = member_as<std::string_view>(note, "place");
    const auto reason = member_as<std::string_view>(note, "reason");
    const auto count = member_as<std::uint64_t>(note, "count");
    if (place && reason && count) {
      notes.push_back({std::string(*place), std::string(*reason), *count});
    }
  }
  return notes;
}

}  // namespace

Json to_json(const CompilerReport& report) {
  Json json = Json::object();
  add_notes(json, kBreakNotes, report.graph_breaks);
  add_notes(json, kRecompilations, report.recompilations);
  for (const auto& [name, count] : report.unlowered) json[kUnlowered][name] = count;
  for (const GraphChoice& choice : report.choices) {
    Json& item = json[kChoices].emplace_back();
    item = {{"chosen", choice.chosen}};
    for (const auto& [name, time] : choice.times) item["times"][name] = json_number(time);
    for (const auto& [name, reason] : choice.failures) item["failures"][name] = reason;
  }
  for (const auto& [group, counts] : report.counters) {
    for (const auto& [name, count] : counts) json[kCounters][group][name] = json_number(count);
  }
  return json;
}

Json to_json(const OperatorTime& time) {
  return {{"name", time.name},
          {"on_device", time.is_on_device},
          {"calls", time.calls},
          {"self", time.self},
          {"total", time.total}};
}

std::vector<OperatorTime> operators_from(const std::vector<JsonValue>& list) {
  std::vector<OperatorTime> operators;
  for (const JsonValue item : list) {
    const auto name = member_as<std::string_view>(item, "name");
    if (!name) continue;
    operators.push_back({std::string(*name), member_as<bool>(item, "on_device").value_or(false),
                         member_as<std::uint64_t>(item, "calls").value_or(0),
                         member_as<std::uint64_t>(item, "self").value_or(0),
                         member_as<std::uint64_t>(item, "total").value_or(0)});
  }
  return operators;
}

std::map<std::string, std::uint64_t> unlowered_from(JsonValue json) {
  std::map<std::string, std::uint64_t> unlowered;
  for (const auto& [name, value] : members_of(json, kUnlowered)) {
    if (const auto count = value_as<std::uint64_t>(value)) unlowered.emplace(name, *count);
  }
  return unlowered;
}

std::vector<GraphChoice> choices_from(JsonValue json) {
  std::vector<GraphChoice> choices;
  for (const JsonValue item : items_of(json, kChoices)) {
    const auto chosen = member_as<std::string_view>(item, "chosen");
    if (!chosen) continue;
    GraphChoice& choice = choices.emplace_back(GraphChoice{.chosen = std::string(*chosen)});
    for (const auto& [name, value] : members_of(item, "times")) {
      if (const auto time = value_as<double>(value)) choice.times.emplace(name, *time);
    }
    for (const auto& [name, value] : members_of(item, "failures")) {
      const auto reason = value_as<std::string_view>(value);
      if (reason) choice.failures.emplace(name, *reason);
    }
  }
  return choices;
}

std::map<std::string, std::map<std::string, double>> counters_from(JsonValue json) {
  std::map<std::string, std::map<std::string, double>> counters;
  for (const auto& [group, counts] : members_of(json, kCounters)) {
    for (const auto& [name, value] : members_of(counts)) {
      const auto count = value_as<double>(value);
      if (count) counters[std::string(group)].emplace(name, *count);
    }
  }
  return counters;
}

CompilerReport compiler_from(JsonValue json) {
  return {.graph_breaks = notes_from(json, kBreakNotes),
          .recompilations = notes_from(json, kRecompilations),
          .unlowered = unlowered_from(json),
          .counters = counters_from(json),
          .choices = choices_from(json)};
}

}  // namespace instr
