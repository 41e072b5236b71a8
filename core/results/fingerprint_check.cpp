#include "core/results/fingerprint_check.h"

#include <algorithm>
#include <set>

#include "core/base/format.h"
#include "core/base/near_match.h"

namespace instr {

namespace {

struct Group {
  std::string name;
  std::vector<std::string> fields;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups{
      // What is compiled and linked is asked of LibTorch, and the worker is compiled against it.
      {"libtorch", {"libtorch_version", "libtorch_build_id", "flags", "link_flags"}},
      {"compiler", {"compiler", "flags"}},
      {"valgrind", {"valgrind"}},
      {"cpu", {"cpu_features", "cpu_capability"}},
      {"worker", {"worker_version", "worker_abi"}},
      {"machine", {"timed_cpu_capability", "timed_cpu_model"}}};
  return kGroups;
}

std::optional<std::string> find(const Fingerprint::Entries& entries, const std::string& name) {
  for (const auto& [entry, value] : entries) {
    if (entry == name) return value;
  }
  return std::nullopt;
}

// Names of both, those of `after` that `before` lacks at the end; each once.
std::vector<std::string> names_of(const Fingerprint::Entries& before,
                                  const Fingerprint::Entries& after) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const auto* entries : {&before, &after}) {
    for (const auto& [name, value] : *entries) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

Expected<std::set<std::string>> fields_that_may_vary(const std::vector<std::string>& vary,
                                                     const std::vector<std::string>& fields) {
  std::set<std::string> free;
  for (const std::string& name : vary) {
    auto group = std::find_if(groups().begin(), groups().end(),
                              [&name](const Group& known) { return known.name == name; });
    if (group != groups().end()) {
      free.insert(group->fields.begin(), group->fields.end());
    } else if (std::find(fields.begin(), fields.end(), name) != fields.end()) {
      free.insert(name);
    } else {
      std::vector<std::string> known = vary_groups();
      known.insert(known.end(), fields.begin(), fields.end());
      return fail("`" + printable(name) + "` is no field of a fingerprint that may vary",
                  did_you_mean(name, known));
    }
  }
  return free;
}

void add_differences(std::vector<FieldDifference>& differences, const Fingerprint::Entries& before,
                     const Fingerprint::Entries& after, FieldClass field_class) {
  for (const std::string& name : names_of(before, after)) {
    FieldDifference difference{name, find(before, name), find(after, name), field_class};
    if (difference.before != difference.after) differences.push_back(std::move(difference));
  }
}

// What tells of counts where one side has none, or of times where one side has none: then only the
// other is compared.
bool is_beside_the_point(const FieldDifference& difference, const Fingerprint& before,
                         const Fingerprint& after) {
  static const std::set<std::string> kOfCounts{"valgrind", "simulated_caches", "cpu_features",
                                               "cpu_capability"};
  bool is_of_times = difference.name.starts_with("timed_");
  if (!is_of_times && !kOfCounts.contains(difference.name)) return false;
  auto lacks = [is_of_times](const Fingerprint& one) {
    bool has_counts = !one.get("valgrind").empty();
    bool has_times = !one.get("timed_cpu_model").empty();
    return is_of_times ? has_counts && !has_times : has_times && !has_counts;
  };
  return lacks(before) || lacks(after);
}

}  // namespace

const std::vector<std::string>& vary_groups() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Group& group : groups()) names.push_back(group.name);
    return names;
  }();
  return kNames;
}

Expected<std::vector<FieldDifference>> check_fingerprints(const Fingerprint& before,
                                                          const Fingerprint& after,
                                                          const std::vector<std::string>& vary) {
  auto free = fields_that_may_vary(vary, names_of(before.entries, after.entries));
  if (!free) return tl::unexpected(free.error());
  std::vector<FieldDifference> differences;
  if (before.entries.empty() && after.entries.empty()) {
    differences.push_back({"fingerprint", std::nullopt, std::nullopt, FieldClass::kMustMatch});
  }
  add_differences(differences, before.entries, after.entries, FieldClass::kMustMatch);
  std::erase_if(differences, [&](const FieldDifference& difference) {
    return is_beside_the_point(difference, before, after);
  });
  for (FieldDifference& difference : differences) {
    if (free->contains(difference.name)) difference.field_class = FieldClass::kMayVary;
  }
  add_differences(differences, before.machine, after.machine, FieldClass::kInformative);
  std::stable_sort(differences.begin(), differences.end(), [](const auto& left, const auto& right) {
    return left.field_class < right.field_class;
  });
  return differences;
}

std::vector<std::string> vary_for(const std::vector<FieldDifference>& differences) {
  std::set<std::string> fields;
  for (const FieldDifference& difference : differences) {
    if (difference.field_class == FieldClass::kMustMatch) fields.insert(difference.name);
  }
  std::vector<std::string> names;
  while (!fields.empty()) {
    auto freed = [&fields](const Group& group) {
      return std::count_if(group.fields.begin(), group.fields.end(),
                           [&fields](const auto& field) { return fields.contains(field); });
    };
    auto best = std::max_element(
        groups().begin(), groups().end(),
        [&freed](const Group& left, const Group& right) { return freed(left) < freed(right); });
    if (freed(*best) == 0) {
      names.insert(names.end(), fields.begin(), fields.end());
      break;
    }
    names.push_back(best->name);
    for (const std::string& field : best->fields) fields.erase(field);
  }
  return names;
}

bool is_comparable(const std::vector<FieldDifference>& differences) {
  return std::none_of(differences.begin(), differences.end(), [](const auto& difference) {
    return difference.field_class == FieldClass::kMustMatch;
  });
}

std::string to_string(const FieldDifference& difference) {
  if (!difference.before && !difference.after) {
    return printable(difference.name) + ": neither of the two says what it was measured with";
  }
  auto text = [](const std::optional<std::string>& value) {
    if (!value) return std::string("not said");
    return value->empty() ? std::string("nothing") : printable(*value);
  };
  return printable(difference.name) + ": " + text(difference.before) + ", then " +
         text(difference.after);
}

}  // namespace instr
