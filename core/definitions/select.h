// Which of the variants that the definitions make are selected.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/variant.h"

namespace instr {

// One of `count` parts of all variants.
struct Shard {
  int index = 1;  // 1 to count
  int count = 1;

  bool operator==(const Shard&) const = default;
};

// Returns true if the variant with this key is in this shard. That depends on the key alone, so a
// variant stays in its shard when definitions are added or removed.
bool is_in(const Shard& shard, const std::string& key);

// An empty list selects everything. A variant is selected if every list selects it.
//
// A pattern is looked for anywhere in the variant's key, and in its name in tables, with the
// group and without (VariantName): "matmul/mm n=4 eager fwd+bwd" and
// "mm n=4 eager fwd+bwd". It matches as a regular expression (RE2), as plain text or, if it has
// wildcards and nothing specific to regular expressions, as a glob. Letters of any case match,
// unless it has a capital one.
struct Selection {
  std::vector<std::string> filters = {};   // patterns; one is enough
  std::vector<std::string> excludes = {};  // patterns; none may be found
  std::vector<Language> languages = {};
  std::vector<Backend> backends = {};
  std::vector<Autograd> autograds = {};
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};
  std::vector<std::string> tags = {};  // one of the variant's tags is among them
  std::optional<Shard> shard = {};

  bool operator==(const Selection&) const = default;
};

// Whether the pattern matches a text.
std::function<bool(const std::string&)> make_matcher(const std::string& pattern);

// Whether a variant is selected; whether one of this key is, as far as the key says.
std::function<bool(const Variant&)> make_selector(const Selection& selection);
std::function<bool(const std::string& key)> make_key_selector(const Selection& selection);

// The known key that a word means: that key itself, or the only one that it matches as a filter.
Expected<std::string> resolve_key(const std::string& word, const std::vector<std::string>& known);

// The same for each of the words.
Expected<std::vector<std::string>> resolve_keys(const std::vector<std::string>& words,
                                                const std::vector<std::string>& known);

// An error (without a place) if none of `variants`, which are not empty, is selected, or if a
// pattern is neither a regular expression nor matches otherwise; the advice names filters that do
// match, as they are typed. A shard may be empty.
Expected<void> check_selection(const std::vector<Variant>& variants, const Selection& selection);

// The selected variants, in their order, after that check.
Expected<std::vector<Variant>> select(std::vector<Variant> variants, const Selection& selection);

}  // namespace instr
