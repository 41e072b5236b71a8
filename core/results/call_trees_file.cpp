#include "core/results/call_trees_file.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/results/json_reader.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// The maximum of a block: hours under Callgrind, and sums of aligned trees do not overflow.
constexpr std::int64_t kMaxTreeInstructions = std::int64_t{1} << 38;

CodeName to_code(SideName name) {
  if (name.function.empty()) return code_name("0x0", name.object);
  return {std::move(name.function), std::move(name.object), true};
}

// Sets the costs and calls of the nodes; returns false if they are malformed.
bool set_costs(JsonValue json, CallTree& tree) {
  const auto self = read_column<std::int64_t>(json, "self");
  const auto calls = read_column<std::uint64_t>(json, "calls");
  if (!self || !calls || self->empty() || calls->size() != self->size()) return false;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < self->size(); ++i) {
    const std::int64_t cost = (*self)[i];
    if (cost < -kMaxTreeInstructions || cost > kMaxTreeInstructions) return false;
    sum += std::abs(cost);
    if (sum > kMaxTreeInstructions) return false;
    CallNode& node = tree.nodes.emplace_back();
    node.self = cost;
    node.calls = (*calls)[i];
  }
  return true;
}

// Sets the parents from the depths of the nodes; returns false if they are not depth first.
bool set_parents(const std::vector<std::uint64_t>& depths, std::vector<CallNode>& nodes) {
  if (depths.size() != nodes.size()) return false;
  std::vector<std::size_t> way;  // from the root to the previous node
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint64_t depth = depths[i];
    if (depth > way.size() || (depth == 0) != (i == 0)) return false;
    way.resize(depth);
    nodes[i].parent = way.empty() ? 0 : way.back();
    way.push_back(i);
  }
  return true;
}

using Known = std::unordered_map<std::uint64_t, std::size_t>;  // functions by their numbers

// Sets the functions; returns false if a name is missing, or the root is not the statement.
bool set_functions(const std::vector<std::uint64_t>& numbers, const NameOfNumber& find_name,
                   CallTree& tree, Known& known) {
  if (numbers.size() != tree.nodes.size()) return false;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    auto [entry, is_new] = known.try_emplace(numbers[i], tree.functions.size());
    if (is_new) {
      auto name = find_name(numbers[i]);
      if (!name) return false;
      tree.functions.push_back(to_code(*std::move(name)));
    }
    tree.nodes[i].function = entry->second;
  }
  return tree.functions.front().is_snippet();
}

// Sets the places; returns false if they are malformed, or a function is unknown.
bool set_places(JsonValue json, const Known& known, CallTree& tree) {
  const auto places = member(json, "places");
  if (!places) return true;
  if (!places->is_array()) return false;
  tree.places.resize(tree.functions.size());
  for (const JsonValue item : items_of(*places)) {
    const auto parts = items_of(item);
    if (parts.size() != 2) return false;
    const auto number = value_as<std::uint64_t>(parts[0]);
    const auto place = value_as<std::string_view>(parts[1]);
    if (!number || !place) return false;
    const auto function = known.find(*number);
    if (function == known.end()) return false;
    tree.places[function->second] = *place;
  }
  return true;
}

std::shared_ptr<const CallTree> tree_from(std::string_view line, const SideFile& file) {
  return call_tree_from(line, [&file](std::uint64_t number) { return file.find_name(number); });
}

}  // namespace

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

std::shared_ptr<const CallTree> call_tree_from(std::string_view text,
                                               const NameOfNumber& find_name) {
  JsonReader reader;
  const auto json = reader.read(text);
  const auto iterations = json ? member_as<std::uint64_t>(*json, "iterations") : std::nullopt;
  if (!iterations || *iterations == 0 || *iterations > kMaxTreeIterations) return nullptr;
  auto tree = std::make_shared<CallTree>();
  tree->iterations = *iterations;
  Known known;
  const auto depths = read_column<std::uint64_t>(*json, "depth");
  const auto functions = read_column<std::uint64_t>(*json, "function");
  const bool is_tree =
      depths && functions && set_costs(*json, *tree) && set_parents(*depths, tree->nodes) &&
      set_functions(*functions, find_name, *tree, known) && set_places(*json, known, *tree);
  if (!is_tree) return nullptr;
  sum_up(tree->nodes);
  return tree;
}

std::string next_call_tree(SideLines& lines, const std::string& key, const CallTree& tree) {
  const auto number_of = [&lines](const std::string& function, const std::string& library) {
    return lines.number_of(function, library);
  };
  return lines.next(key, to_json(tree, number_of));
}

CallTreesOf call_trees_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                          Incomplete incomplete) {
  return values_in<CallTree>(file, header, incomplete, tree_from);
}

}  // namespace instr
