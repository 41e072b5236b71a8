#include "core/definitions/backends.h"

#include <algorithm>
#include <sstream>

namespace instr {

namespace {

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kRuntimes.size(); ++i) {
    if (kRuntimes[i].runtime != static_cast<Runtime>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "facts_of() finds an entry by its place");

}  // namespace

std::optional<Runtime> runtime_from(const std::string& name) {
  const auto known = std::find_if(kRuntimes.begin(), kRuntimes.end(),
                                  [&name](const RuntimeFacts& one) { return name == one.name; });
  return known == kRuntimes.end() ? std::nullopt : std::optional(known->runtime);
}

std::vector<std::string> packages_of(Runtime runtime) {
  const char* text = facts_of(runtime).packages;
  std::istringstream words(text != nullptr ? text : "");
  std::vector<std::string> packages;
  for (std::string word; words >> word;) packages.push_back(word);
  return packages;
}

bool runs_on(Runtime runtime, const std::string& device) {
  const char* only = facts_of(runtime).device;
  return only == nullptr || device == only;
}

}  // namespace instr
