#include "core/values/call_tree.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace instr {

namespace {

class Builder {
 public:
  explicit Builder(const Profile& profile) {
    nodes_.push_back({{kSnippetName, "", true}});
    for (const ProfileFunction& one : profile.functions) {
      objects_.try_emplace(one.function + one.path,
                           std::filesystem::path(one.object).filename().string());
    }
  }

  void add(const ProfileFunction& function, std::uint64_t cost) {
    CallNode& node = nodes_[node_of(function.function + function.path)];
    node.self += static_cast<std::int64_t>(cost);
    node.calls += function.calls;
  }

  std::vector<CallNode> take() { return std::move(nodes_); }

 private:
  // `path`: "f'callee'caller". Its node, below that of "callee'caller" and so on.
  std::size_t node_of(std::string_view path) {
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
    // Where one begins and ends within such code is not known.
    if (!code.has_symbol && nodes_[parent].code == code) return parent;
    auto [entry, is_new] = children_.try_emplace({parent, code}, nodes_.size());
    if (is_new) nodes_.push_back({code, parent});
    return entry->second;
  }

  std::vector<CallNode> nodes_;
  std::unordered_map<std::string, std::string> objects_;  // by path
  std::unordered_map<std::string, std::size_t> known_;    // nodes by path
  std::map<std::pair<std::size_t, CodeName>, std::size_t> children_;
};

void sum_up(std::vector<CallNode>& nodes) {
  for (CallNode& node : nodes) node.total = node.self;
  for (std::size_t i = nodes.size(); i-- > 1;) nodes[nodes[i].parent].total += nodes[i].total;
}

// Parents before children, the most expensive child first.
std::vector<CallNode> in_order(const std::vector<CallNode>& nodes) {
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
    std::vector<std::size_t>& its = children[old];
    std::sort(its.begin(), its.end(), [&nodes](std::size_t a, std::size_t b) {
      return std::pair(nodes[a].total, nodes[b].code) < std::pair(nodes[b].total, nodes[a].code);
    });
    for (std::size_t child : its) left.emplace_back(child, place);
  }
  return ordered;
}

}  // namespace

CallTree call_tree(const Profile& profile, std::uint64_t iterations, double net) {
  const auto event = std::find(profile.events.begin(), profile.events.end(), "Ir");
  if (event == profile.events.end() || iterations == 0) return {};
  const auto ir = static_cast<std::size_t>(event - profile.events.begin());
  Builder builder(profile);
  for (const ProfileFunction& one : profile.functions) builder.add(one, one.self[ir]);
  std::vector<CallNode> nodes = builder.take();
  sum_up(nodes);
  const auto loop =
      nodes[0].total - std::llround(net * static_cast<double>(iterations));  // the empty one's
  nodes[0].self -= loop;
  nodes[0].total -= loop;
  nodes[0].calls = 0;
  return {iterations, in_order(nodes)};
}

}  // namespace instr
