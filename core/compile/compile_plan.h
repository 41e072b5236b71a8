// Which variants are compiled together: pure, so that it can be tested without a compiler.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/compile/generate.h"
#include "core/definitions/variant.h"

namespace instr {

// Variants with the same code share one function, whatever their keys.
struct Snippet {
  std::string symbol;
  std::vector<Variant> variants;  // at least one
};

// Snippets that may share a unit: they have the same build options and the same global setup.
struct SnippetGroup {
  std::vector<Snippet> snippets;
  // Must be in one unit: its global setup registers operators, which can be done only once.
  bool is_whole = false;
  // Must not share its unit: its text may change the meaning of what follows.
  bool is_alone = false;
};

// In the order of the variants.
std::vector<SnippetGroup> group_snippets(const std::vector<Variant>& variants,
                                         Purpose purpose = Purpose::kMeasure);

// Cuts groups into units of at most `kLargestUnit` snippets, about `jobs` units in total; the most
// expensive first. Groups are not mixed.
inline constexpr std::size_t kLargestUnit = 60;
std::vector<std::vector<Snippet>> cut_units(const std::vector<SnippetGroup>& groups, int jobs);

// Cuts groups into units of one snippet.
std::vector<std::vector<Snippet>> cut_all(const std::vector<SnippetGroup>& groups);

}  // namespace instr
