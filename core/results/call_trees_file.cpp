#include "core/results/call_trees_file.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "core/results/results.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// Of a block; hours under Callgrind. So no sum overflows, nor those of aligned trees.
constexpr std::int64_t kMaxTreeInstructions = std::int64_t{1} << 38;
constexpr auto kTreeColumns = std::to_array<const char*>({"function", "depth", "self", "calls"});

CodeName code_of(SideName name) {
  if (name.function.empty()) return code_name("0x0", name.object);
  return {std::move(name.function), std::move(name.object), true};
}

// Whether these are columns of numbers, of one length.
bool has_tree_columns(const Json& json) {
  if (!json.is_object() || !json.contains("iterations")) return false;
  if (!json["iterations"].is_number_unsigned() || json["iterations"] == 0U) return false;
  if (json["iterations"].get<std::uint64_t>() > kMostTreeIterations) return false;
  for (const char* column : kTreeColumns) {
    if (!json.contains(column) || !json[column].is_array() || json[column].empty()) return false;
    if (json[column].size() != json["function"].size()) return false;
    for (const Json& number : json[column]) {
      const bool may_be_negative = column == std::string_view("self");
      if (may_be_negative ? !number.is_number_integer() : !number.is_number_unsigned()) {
        return false;
      }
    }
  }
  return true;
}

// Sets the parents by how deep each node is; false if that is not depth first.
bool set_parents(const Json& depths, std::vector<CallNode>& nodes) {
  std::vector<std::size_t> way;  // from the root to the node before
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto depth = depths[i].get<std::uint64_t>();
    if (depth > way.size() || (depth == 0) != (i == 0)) return false;
    way.resize(depth);
    nodes[i].parent = way.empty() ? 0 : way.back();
    way.push_back(i);
  }
  return true;
}

using Known = std::unordered_map<std::uint64_t, std::size_t>;  // functions by their numbers

// Sets the functions; false if one has no name, or the root is not the statement.
bool set_functions(const Json& numbers, const NameOfNumber& name_of, CallTree& tree, Known& known) {
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const auto number = numbers[i].get<std::uint64_t>();
    auto [entry, is_new] = known.try_emplace(number, tree.functions.size());
    if (is_new) {
      auto name = name_of(number);
      if (!name) return false;
      tree.functions.push_back(code_of(*std::move(name)));
    }
    tree.nodes[i].function = entry->second;
  }
  return tree.functions.front().is_snippet();
}

// False if there are some that are of no function, or no texts.
bool set_places(const Json& json, const Known& known, CallTree& tree) {
  if (!json.contains("places")) return true;
  if (!json["places"].is_array()) return false;
  tree.places.resize(tree.functions.size());
  for (const Json& one : json["places"]) {
    if (!one.is_array() || one.size() != 2) return false;
    if (!one[0].is_number_unsigned() || !one[1].is_string()) return false;
    const auto function = known.find(one[0].get<std::uint64_t>());
    if (function == known.end()) return false;
    tree.places[function->second] = one[1].get<std::string>();
  }
  return true;
}

std::shared_ptr<const CallTree> tree_from(const Json& json, const SideFile& file) {
  return call_tree_from(json, [&file](std::uint64_t number) { return file.name_of(number); });
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

std::shared_ptr<const CallTree> call_tree_from(const Json& json, const NameOfNumber& name_of) {
  if (!has_tree_columns(json)) return nullptr;
  auto tree = std::make_shared<CallTree>();
  tree->iterations = json["iterations"].get<std::uint64_t>();
  std::int64_t size = 0;
  for (std::size_t i = 0; i < json["function"].size(); ++i) {
    CallNode& node = tree->nodes.emplace_back();
    node.self = json["self"][i].get<std::int64_t>();
    node.calls = json["calls"][i].get<std::uint64_t>();
    if (node.self < -kMaxTreeInstructions || node.self > kMaxTreeInstructions) return nullptr;
    size += std::abs(node.self);
    if (size > kMaxTreeInstructions) return nullptr;
  }
  if (!set_parents(json["depth"], tree->nodes)) return nullptr;
  Known known;
  if (!set_functions(json["function"], name_of, *tree, known)) return nullptr;
  if (!set_places(json, known, *tree)) return nullptr;
  sum_up(tree->nodes);
  return tree;
}

std::string next_call_tree(SideLines& lines, const std::string& key, const CallTree& tree) {
  const std::string object =
      to_line(to_json(tree, [&lines](const std::string& function, const std::string& library) {
        return lines.number_of(function, library);
      }));
  return lines.next(key, object.substr(1, object.size() - 2));
}

Expected<CallTreesOf> open_call_trees(const std::filesystem::path& file, const std::string& header,
                                      Incomplete incomplete) {
  return read_side_file(file, kCallTreesFile).map([&](const std::shared_ptr<SideFile>& side) {
    return values_in<CallTree>(side, header, incomplete, tree_from);
  });
}

CallTreesOf parse_call_trees(std::string bytes, const std::string& header, const std::string& name,
                             Incomplete incomplete, const SideLimits& limits) {
  const auto side = std::make_shared<SideFile>(kCallTreesFile, std::move(bytes), name, limits);
  return values_in<CallTree>(side, header, incomplete, tree_from);
}

}  // namespace instr
