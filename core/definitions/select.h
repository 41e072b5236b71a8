// Which variants of all that the definitions make are wanted now.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/variant.h"

namespace instr {

// One of `count` parts of all variants. A variant's part depends on its key alone, so it stays
// where it is when definitions come or go.
struct Shard {
  int index = 1;  // 1 to count
  int count = 1;

  bool operator==(const Shard&) const = default;
};

// Whether a variant with that key is in that part.
bool is_in(const Shard& shard, const std::string& key);

// An empty list asks for nothing in particular. A variant is kept where it meets every list.
//
// A pattern is looked for anywhere in the variant's key, and in what tables show of it, with the
// group and without (core/definitions/variant_names.h): "matmul/mm n=4 eager fwd+bwd" and
// "mm n=4 eager fwd+bwd". It is found where it is as a regular expression (RE2), as plain text, or,
// where it has wildcards and nothing else that only regular expressions have, as a glob. Letters of
// any case match, unless it has a capital one.
struct Selection {
  std::vector<std::string> filters = {};   // patterns; one is enough
  std::vector<std::string> excludes = {};  // patterns; none may be found
  std::vector<Runtime> runtimes = {};
  std::vector<Autograd> autograds = {};
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};
  std::vector<std::string> tags = {};  // one of the variant's tags is among them
  std::optional<Shard> shard = {};
};

// Whether that pattern is found in a text.
std::function<bool(const std::string&)> finder(const std::string& pattern);

// Whether a variant is wanted.
std::function<bool(const Variant&)> selector(const Selection& selection);

// An error (without a place) where nothing of `variants`, of which there are some, is wanted, or a
// pattern is not a regular expression and finds nothing otherwise either; the advice names filters
// that do find something, as they are typed. A shard may be empty.
Expected<void> check_selection(const std::vector<Variant>& variants, const Selection& selection);

// The wanted variants, in their order, once that is checked.
Expected<std::vector<Variant>> select(std::vector<Variant> variants, const Selection& selection);

}  // namespace instr
