#include "core/compile/cpp/compile_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/global_setup.h"
#include "core/compile/cpp/self_contained.h"
#include "core/results/verification.h"

namespace instr {

namespace {

bool can_share(const Variant& variant) {
  if (!is_self_contained(split_global(global_code(variant)).rest)) return false;
  const auto texts = list_texts(variant);
  return std::all_of(texts.begin(), texts.end(),
                     [](const Text* text) { return is_self_contained(text->code); });
}

// Makes a text that must be equal for two variants to share a unit.
std::string make_group_key(const Variant& variant, const UnitFunction& function, Purpose purpose) {
  const bool is_verified = purpose == Purpose::kVerify && !variant.global_setups.empty();
  if (!can_share(variant)) return "alone " + (is_verified ? function.eager : function.symbol);
  std::string key =
      "build " + std::to_string(reinterpret_cast<std::uintptr_t>(variant.build.get()));
  if (!is_verified && facts_of(variant.backend).cuda_header != nullptr)
    key += " with CUDA's headers";
  return key + "\n" + global_code(variant);
}

UnitFunction make_function(const Variant& variant, Purpose purpose) {
  const std::string symbol = make_snippet_symbol(variant, purpose);
  return {symbol,
          {},
          is_candidate(variant) ? make_snippet_symbol(make_eager(variant), purpose) : symbol};
}

// Groups functions that are compared with each other, in the order of each group's first.
std::vector<std::vector<UnitFunction>> group_compared(const std::vector<UnitFunction>& functions) {
  std::vector<std::vector<UnitFunction>> sets;
  std::map<std::string, std::size_t> set_at;
  for (const UnitFunction& function : functions) {
    auto [it, is_new] = set_at.try_emplace(function.eager, sets.size());
    if (is_new) sets.emplace_back();
    sets[it->second].push_back(function);
  }
  return sets;
}

}  // namespace

std::vector<FunctionGroup> group_functions(const std::vector<Variant>& variants, Purpose purpose) {
  std::vector<FunctionGroup> groups;
  std::map<std::string, std::size_t> group_at;
  std::map<std::pair<std::size_t, std::string>, std::size_t> function_at;
  for (const auto& variant : variants) {
    UnitFunction function = make_function(variant, purpose);
    auto [group, is_new_group] =
        group_at.try_emplace(make_group_key(variant, function, purpose), groups.size());
    if (is_new_group) groups.push_back({{}, !variant.global_setups.empty()});
    auto& functions = groups[group->second].functions;
    auto [it, is_new] = function_at.try_emplace({group->second, function.symbol}, functions.size());
    if (is_new) functions.push_back(std::move(function));
    functions[it->second].variants.push_back(variant);
  }
  return groups;
}

std::vector<std::vector<UnitFunction>> cut_units(const std::vector<FunctionGroup>& groups,
                                                 int jobs) {
  std::size_t total = 0;
  for (const auto& group : groups) total += group.functions.size();
  std::vector<std::vector<UnitFunction>> units;
  for (const auto& group : groups) {
    const auto sets = group_compared(group.functions);
    if (sets.empty()) continue;
    const std::size_t size = group.functions.size();
    const std::size_t share =
        (static_cast<std::size_t>(std::max(jobs, 1)) * size + total / 2) / total;
    const std::size_t needed = (size + kMaxUnitSize - 1) / kMaxUnitSize;
    const std::size_t count = std::clamp(std::max(share, needed), std::size_t{1}, sets.size());
    for (std::size_t i = 0; i < count; ++i) {
      auto& unit = units.emplace_back();
      for (std::size_t at = sets.size() * i / count; at < sets.size() * (i + 1) / count; ++at) {
        unit.insert(unit.end(), sets[at].begin(), sets[at].end());
      }
    }
  }
  std::ranges::stable_sort(units, std::greater(), std::ranges::size);
  return units;
}

std::vector<std::vector<UnitFunction>> cut_all(const std::vector<FunctionGroup>& groups) {
  std::vector<std::vector<UnitFunction>> units;
  for (const auto& group : groups) {
    for (const auto& function : group.functions) units.push_back({function});
  }
  return units;
}

}  // namespace instr
