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
struct Selection {
  std::vector<std::string> filters = {};   // RE2, found anywhere in the key; one is enough
  std::vector<std::string> excludes = {};  // RE2; none may be found in the key
  std::vector<Runtime> runtimes = {};
  std::vector<Autograd> autograds = {};
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};
  std::vector<std::string> tags = {};  // one of the variant's tags is among them
  std::optional<Shard> shard = {};
};

// Whether a variant is wanted. An error (without a place) where a pattern is none.
Expected<std::function<bool(const Variant&)>> selector(const Selection& selection);

// The wanted variants, in their order. Errors (without a place): a pattern that is none, nothing
// wanted at all; the advice names what is near. A shard may be empty.
Expected<std::vector<Variant>> select(std::vector<Variant> variants, const Selection& selection);

}  // namespace instr
