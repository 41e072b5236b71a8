#include "core/profile/call_tree.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/text.h"

namespace instr {

namespace {

// The functions of one or several trees, and the nodes by their paths, from the root on.
class Nodes {
 public:
  Nodes() { nodes.push_back({functions.number_of({kSnippetName, "", true})}); }

  void set_place(std::size_t function, const std::string& place) {
    if (place.empty()) return;
    places.resize(std::max(places.size(), function + 1));
    places[function] = place;
  }

  std::size_t below(std::size_t parent, std::size_t function) {
    auto [entry, is_new] = children_.try_emplace({parent, function}, nodes.size());
    if (is_new) nodes.push_back({function, parent});
    return entry->second;
  }

  Numbered<CodeName> functions;
  std::vector<CallNode> nodes;
  std::vector<std::string> places;

 private:
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> children_;
};

// Returns the place where a function begins; "" if unknown.
std::string format_place(const ProfileFunction& function, const Profile& profile) {
  if (function.line == 0 || profile.files[function.file].empty()) return "";
  return profile.files[function.file] + ":" + std::to_string(function.line);
}

class Builder {
 public:
  explicit Builder(const Profile& profile) {
    for (const ProfileFunction& function : profile.functions) {
      objects_.try_emplace(function.function + function.path, function.library());
    }
  }

  void add(const ProfileFunction& function, const std::string& place, std::uint64_t cost) {
    CallNode& node = built_.nodes[find_or_add(function.function + function.path)];
    node.self += static_cast<std::int64_t>(cost);
    node.calls += function.calls;
    if (built_.functions.all()[node.function].has_symbol) built_.set_place(node.function, place);
  }

  CallTree take(std::uint64_t iterations) {
    return {iterations, built_.functions.take(), std::move(built_.nodes), std::move(built_.places)};
  }

 private:
  // Returns the node of "f'callee'caller", below that of "callee'caller" and so on.
  std::size_t find_or_add(std::string_view path) {
    std::vector<std::string_view> missing;
    std::size_t node = 0;
    while (!path.empty()) {
      if (auto known = known_.find(std::string(path)); known != known_.end()) {
        node = known->second;
        break;
      }
      missing.push_back(path);
      path.remove_prefix(std::min(path_begin(path) + 1, path.size()));
    }
    for (; !missing.empty(); missing.pop_back()) {
      node = below(node, missing.back());
      known_.emplace(missing.back(), node);
    }
    return node;
  }

  std::size_t below(std::size_t parent, std::string_view path) {
    const std::size_t end = path_begin(path);
    const std::string_view function = path.substr(0, end);
    if (end == path.size() && runs_loop(function)) return 0;
    const auto object = objects_.find(std::string(path));
    const CodeName code =
        code_name(without_hashes(function), object == objects_.end() ? "" : object->second);
    const std::size_t number = built_.functions.number_of(code);
    // Functions within code without symbols are unknown.
    if (!code.has_symbol && built_.nodes[parent].function == number) return parent;
    return built_.below(parent, number);
  }

  Nodes built_;
  std::unordered_map<std::string, std::string> objects_;  // path -> library
  std::unordered_map<std::string, std::size_t> known_;    // nodes by path
};

// Orders the nodes depth first, the most expensive child first.
std::vector<CallNode> in_order(const CallTree& tree) {
  const std::vector<CallNode>& nodes = tree.nodes;
  std::vector<std::vector<std::size_t>> children(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i) children[nodes[i].parent].push_back(i);
  std::vector<CallNode> ordered;
  std::vector<std::pair<std::size_t, std::size_t>> left{{0, 0}};  // node, its parent's new place
  while (!left.empty()) {
    const auto [old, parent] = left.back();
    left.pop_back();
    const std::size_t place = ordered.size();
    ordered.push_back(nodes[old]);
    ordered.back().parent = parent;
    std::vector<std::size_t>& below = children[old];
    std::sort(below.begin(), below.end(), [&](std::size_t a, std::size_t b) {
      if (nodes[a].total != nodes[b].total) return nodes[a].total < nodes[b].total;
      return tree.code_of(nodes[b]) < tree.code_of(nodes[a]);
    });
    for (std::size_t child : below) left.emplace_back(child, place);
  }
  return ordered;
}

// Returns the place of each node of `tree` in `all`; adds nodes that are missing.
std::vector<std::size_t> places_among(const CallTree& tree, Nodes& all) {
  std::vector<std::size_t> functions;
  for (std::size_t i = 0; i < tree.functions.size(); ++i) {
    functions.push_back(all.functions.number_of(tree.functions[i]));
    all.set_place(functions.back(), tree.place_of(i));
  }
  std::vector<std::size_t> places{0};
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    places.push_back(all.below(places[node.parent], functions[node.function]));
  }
  return places;
}

CallTree at_places(const CallTree& tree, const std::vector<std::size_t>& places, const Nodes& all,
                   std::uint64_t iterations) {
  CallTree placed{iterations, all.functions.all(), all.nodes, all.places};
  const std::uint64_t factor = iterations / tree.iterations;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    placed.nodes[places[i]].self = tree.nodes[i].self * static_cast<std::int64_t>(factor);
    placed.nodes[places[i]].calls = tree.nodes[i].calls * factor;
  }
  sum_up(placed.nodes);
  return placed;
}

}  // namespace

void sum_up(std::vector<CallNode>& nodes) {
  for (CallNode& node : nodes) node.total = node.self;
  for (std::size_t i = nodes.size(); i-- > 1;) nodes[nodes[i].parent].total += nodes[i].total;
}

CallTree call_tree(const Profile& profile, std::uint64_t iterations, double net) {
  const auto ir = profile.find_event("Ir");
  if (!ir || iterations == 0) return {};
  Builder builder(profile);
  for (const ProfileFunction& function : profile.functions) {
    builder.add(function, format_place(function, profile), function.self[*ir]);
  }
  CallTree tree = builder.take(iterations);
  sum_up(tree.nodes);
  CallNode& root = tree.nodes[0];
  const auto loop = root.total - std::llround(net * static_cast<double>(iterations));  // the empty
  root.self -= loop;
  root.total -= loop;
  root.calls = 0;
  tree.nodes = in_order(tree);
  return tree;
}

AlignedTrees aligned(const CallTree& before, const CallTree& after) {
  const std::uint64_t iterations = std::lcm(before.iterations, after.iterations);
  Nodes all;
  const std::vector<std::size_t> places_before = places_among(before, all);
  const std::vector<std::size_t> places_after = places_among(after, all);
  return {at_places(before, places_before, all, iterations),
          at_places(after, places_after, all, iterations)};
}

}  // namespace instr
