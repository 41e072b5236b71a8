// Selects variants by patterns, values on axes, tags and shard.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/variant.h"

namespace instr {

// A part of all variants, which are divided by their keys.
struct Shard {
  int index = 1;  // 1 to count
  int count = 1;

  bool operator==(const Shard&) const = default;
};

// Returns true if the variant with this key is in the shard. Depends on the key alone, so a variant
// stays in its shard when definitions are added or removed.
bool is_in(const Shard& shard, const std::string& key);

// An empty list selects everything. A variant is selected if every list selects it.
//
// A pattern is searched for in the variant's key, and in its name in tables with and without the
// group (VariantName): "matmul/mm n=4 eager fwd+bwd" and "mm n=4 eager fwd+bwd". It matches as a
// regular expression (RE2), as plain text or, if it has wildcards and nothing specific to regular
// expressions, as a glob. Case matters only if the pattern has a capital letter.
struct Selection {
  std::vector<std::string> filters = {};   // patterns, at least one of which matches
  std::vector<std::string> excludes = {};  // patterns, none of which matches
  std::vector<Language> languages = {};
  std::vector<Backend> backends = {};
  std::vector<Autograd> autograds = {};
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};
  std::vector<std::string> tags = {};  // one or more of these are tags of the variant
  std::optional<Shard> shard = {};

  bool operator==(const Selection&) const = default;
};

// Adds eager, which the other backends are compared with.
Selection with_eager(Selection selection);

// Makes a predicate: the pattern matches a text.
std::function<bool(const std::string&)> make_matcher(const std::string& pattern);

// Make predicates: a variant is selected; a variant with this key is, as far as the key tells.
std::function<bool(const Variant&)> make_selector(const Selection& selection);
std::function<bool(const std::string& key)> make_key_selector(const Selection& selection);

// Return the known key that a word means: that key itself, or the only one that it matches as a
// filter.
Expected<std::string> resolve_key(const std::string& word, const std::vector<std::string>& known);
Expected<std::vector<std::string>> resolve_keys(const std::vector<std::string>& words,
                                                const std::vector<std::string>& known);

// Fails, without a place, if none of `variants` (at least one) is selected, or if a pattern is
// neither a regular expression nor matches otherwise. The advice names filters that match, ready to
// be typed. A shard may be empty.
Expected<void> check_selection(const std::vector<Variant>& variants, const Selection& selection);

// Returns the selected variants, in their order, after check_selection().
Expected<std::vector<Variant>> select(std::vector<Variant> variants, const Selection& selection);

}  // namespace instr
