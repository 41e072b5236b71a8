#include "core/definitions/backends.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <deque>
#include <iterator>
#include <mutex>
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

// The backends that are not in the table, in the order in which they were named.
class OwnBackends {
 public:
  const BackendFacts& facts_at(std::size_t place) {
    std::lock_guard lock(mutex_);
    return entries_[place].facts;
  }

  Backend find_or_add(const std::string& name) {
    std::lock_guard lock(mutex_);
    return entry_of(name).facts.backend;
  }

  void define(const std::vector<OwnBackend>& backends) {
    std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) entry.explain(explain_name(entry.given.name));
    for (const OwnBackend& backend : backends) entry_of(backend.name).explain(backend);
  }

 private:
  struct Entry {
    OwnBackend given = {};
    BackendFacts facts = {};

    // The facts have pointers to the texts.
    void explain(OwnBackend backend) {
      given = std::move(backend);
      facts = make_compiled(facts.backend, given.name.c_str(), given.name.c_str());
      const auto text_or_null = [](const std::string& text) {
        return text.empty() ? nullptr : text.c_str();
      };
      facts.module = text_or_null(given.module);
      facts.function = text_or_null(given.function);
      facts.mode = text_or_null(given.mode);
      facts.options = text_or_null(given.options);
      facts.is_fullgraph = given.is_fullgraph;
    }
  };

  static OwnBackend explain_name(const std::string& name) {
    const std::size_t colon = name.find(':');
    if (colon == std::string::npos) return {name};
    return {name, name.substr(0, colon), name.substr(colon + 1)};
  }

  Entry& entry_of(const std::string& name) {
    for (Entry& entry : entries_) {
      if (entry.given.name == name) return entry;
    }
    Entry& entry = entries_.emplace_back();
    entry.facts.backend = static_cast<Backend>(kBackends.size() + entries_.size() - 1);
    entry.explain(explain_name(name));
    return entry;
  }

  std::mutex mutex_;
  std::deque<Entry> entries_;  // references to a deque's elements stay valid
};

OwnBackends& own_backends() {
  static OwnBackends backends;
  return backends;
}

}  // namespace

const BackendFacts& facts_of(Backend backend) {
  const auto place = static_cast<std::size_t>(backend);
  return is_in_table(backend) ? kBackends[place]
                              : own_backends().facts_at(place - kBackends.size());
}

std::optional<Backend> find_backend(const std::string& name) {
  for (const BackendFacts& facts : kBackends) {
    if (facts.name == name) return facts.backend;
  }
  // Names of Python, without the characters that separate parts of keys and items of lists.
  static const RE2 kName(R"([A-Za-z_][\w.-]*|[A-Za-z_][\w.]*:[A-Za-z_]\w*)");
  if (!RE2::FullMatch(name, kName)) return std::nullopt;
  return own_backends().find_or_add(name);
}

Expected<Backend> parse_backend(const std::string& name) {
  if (const auto backend = find_backend(name)) return *backend;
  return fail(fmt::format("`{}` is not the name of a backend", name),
              "name one that `instr_bench list --backends` shows, or a function: MODULE:FUNCTION");
}

void define_backends(const std::vector<OwnBackend>& backends) { own_backends().define(backends); }

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
