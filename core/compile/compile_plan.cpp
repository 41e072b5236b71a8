#include "core/compile/compile_plan.h"

#include <algorithm>
#include <map>

#include "core/compile/self_contained.h"

namespace instr {

namespace {

bool can_share(const Variant& variant) {
  if (variant.global_setup && !is_self_contained(split_global(variant.global_setup->code).rest)) {
    return false;
  }
  const auto texts = texts_of(variant);
  return std::all_of(texts.begin(), texts.end(),
                     [](const Text* text) { return is_self_contained(text->code); });
}

// What must be equal for two variants to share a unit.
std::string group_key(const Variant& variant, const std::string& symbol) {
  if (!can_share(variant)) return "alone " + symbol;
  std::string key =
      "build " + std::to_string(reinterpret_cast<std::uintptr_t>(variant.build.get()));
  if (facts_of(variant.runtime).cuda_header != nullptr) key += " with CUDA's headers";
  return key + "\n" + (variant.global_setup ? variant.global_setup->code : "");
}

}  // namespace

std::vector<SnippetGroup> group_snippets(const std::vector<Variant>& variants, Purpose purpose) {
  std::vector<SnippetGroup> groups;
  std::map<std::string, std::size_t> group_at;
  std::map<std::pair<std::size_t, std::string>, std::size_t> snippet_at;
  for (const auto& variant : variants) {
    std::string symbol = snippet_symbol(variant, purpose);
    auto [found, is_new] = group_at.try_emplace(group_key(variant, symbol), groups.size());
    if (is_new) {
      SnippetGroup group;
      group.is_alone = !can_share(variant);
      group.is_whole = variant.global_setup &&
                       variant.global_setup->code.find("TORCH_LIBRARY") != std::string::npos;
      groups.push_back(std::move(group));
    }
    auto& snippets = groups[found->second].snippets;
    auto [snippet, is_new_snippet] =
        snippet_at.try_emplace({found->second, symbol}, snippets.size());
    if (is_new_snippet) snippets.push_back({symbol, {}});
    snippets[snippet->second].variants.push_back(variant);
  }
  return groups;
}

std::vector<std::vector<Snippet>> cut_units(const std::vector<SnippetGroup>& groups, int jobs) {
  std::size_t total = 0;
  for (const auto& group : groups) total += group.snippets.size();
  std::vector<std::vector<Snippet>> units;
  for (const auto& group : groups) {
    std::size_t size = group.snippets.size();
    if (size == 0) continue;
    std::size_t share = (static_cast<std::size_t>(std::max(jobs, 1)) * size + total / 2) / total;
    std::size_t needed = (size + kLargestUnit - 1) / kLargestUnit;
    std::size_t count =
        group.is_whole ? 1 : std::clamp(std::max(share, needed), std::size_t{1}, size);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t end = size * (i + 1) / count;
      units.emplace_back(group.snippets.begin() + static_cast<std::ptrdiff_t>(begin),
                         group.snippets.begin() + static_cast<std::ptrdiff_t>(end));
      begin = end;
    }
  }
  std::stable_sort(units.begin(), units.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return units;
}

std::vector<std::vector<Snippet>> cut_all(const std::vector<SnippetGroup>& groups) {
  std::vector<std::vector<Snippet>> units;
  for (const auto& group : groups) {
    for (const auto& snippet : group.snippets) units.push_back({snippet});
  }
  return units;
}

}  // namespace instr
