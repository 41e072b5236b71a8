#include "core/definitions/backends.h"

#include <iterator>
#include <sstream>

namespace instr {

namespace {

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kBackends.size(); ++i) {
    if (kBackends[i].backend != static_cast<Backend>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "facts_of() finds an entry by its place");

}  // namespace

std::optional<Backend> find_backend(const std::string& name) {
  for (const BackendFacts& facts : kBackends) {
    if (facts.name == name) return facts.backend;
  }
  return std::nullopt;
}

std::vector<std::string> packages_of(Backend backend) {
  const char* text = facts_of(backend).packages;
  std::istringstream words(text != nullptr ? text : "");
  return {std::istream_iterator<std::string>(words), {}};
}

bool runs_on(Backend backend, const std::string& device) {
  const char* only = facts_of(backend).device;
  return only == nullptr || device == only;
}

}  // namespace instr
