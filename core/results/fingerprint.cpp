#include "core/results/fingerprint.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/format.h"
#include "core/base/near_match.h"

namespace instr {

std::string Fingerprint::get(const std::string& name) const {
  for (const auto& [entry, value] : entries) {
    if (entry == name) return value;
  }
  return "";
}

nlohmann::ordered_json to_json(const Fingerprint& fingerprint) {
  auto json = nlohmann::ordered_json::object();
  auto libraries = nlohmann::ordered_json::array();
  for (const auto& [name, value] : fingerprint.entries) {
    if (is_library_field(name)) {
      libraries.push_back({name, value});
    } else {
      json[name] = value;
    }
  }
  if (!libraries.empty()) json[std::string(kLibraries)] = libraries;
  auto machine = nlohmann::ordered_json::object();
  for (const auto& [name, value] : fingerprint.machine) machine[name] = value;
  json["machine"] = machine;
  return json;
}

namespace {

struct Group {
  std::string name;
  std::vector<std::string> fields;

  bool frees(const FieldDifference& difference) const {
    const std::string& field = difference.name;
    if (std::ranges::find(fields, field) != fields.end()) return true;
    if (name == kLibraries) return is_library_field(field) || without_times(field) == kLibraries;
    if (!is_library_field(field)) return false;
    // Another LibTorch brings its own libraries, and requires others; libraries that both require
    // are the system's.
    const bool is_loaded_once = !difference.before || !difference.after;
    if (name == "compiler") return is_loaded_once;
    const bool is_torch = without_times(field).starts_with(kTorchLibrary);
    return name == "libtorch" && (is_torch || is_loaded_once);
  }
};

bool is_freed(const FieldDifference& difference, const std::vector<Group>& groups) {
  return std::ranges::any_of(groups, [&](const Group& group) { return group.frees(difference); });
}

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups{
      {"libraries", {}},
      // LibTorch determines how code is compiled and linked, and the worker is compiled against it.
      {"libtorch", {"libtorch_version", "libtorch_build_id", "flags", "link_flags"}},
      {"compiler", {"compiler", "flags"}},
      {"valgrind", {"valgrind"}},
      {"python", {"python"}},
      {"cpu", {"cpu_features", "cpu_capability"}},
      {"worker", {"worker_version", "worker_abi", "python_worker"}},
      {"cuda_stand_in", {"cuda_stand_in"}},  // results without it do not have the field
      {"machine", {"timed_cpu_capability", "timed_cpu_model", kTimedCores, kTimedGpu}}};
  return kGroups;
}

std::optional<std::string> find(const Fingerprint::Entries& entries, const std::string& name) {
  for (const auto& [entry, value] : entries) {
    if (entry == name) return value;
  }
  return std::nullopt;
}

// Collects the names of both, each once; those that `before` lacks come last.
std::vector<std::string> collect_names(const Fingerprint::Entries& before,
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

// Finds a field by its name, or by the name of a library, with or without its ending: `libc` is
// "library libc.so.6".
std::optional<std::string> find_field(const std::string& name,
                                      const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    const std::string file = is_library_field(field) ? field.substr(field.rfind(' ') + 1) : field;
    if (name == field || name == file || file.starts_with(name + ".so")) return field;
  }
  return std::nullopt;
}

// Finds the groups of these names; a single field is a group, too.
Expected<std::vector<Group>> groups_that_may_vary(const std::vector<std::string>& vary,
                                                  const std::vector<std::string>& fields) {
  std::vector<Group> free;
  for (const std::string& name : vary) {
    const auto group = std::ranges::find(groups(), name, &Group::name);
    if (group != groups().end()) {
      free.push_back(*group);
    } else if (const auto field = find_field(name, fields)) {
      free.push_back({"", {*field}});
    } else {
      std::vector<std::string> known = vary_groups();
      std::ranges::copy_if(fields, std::back_inserter(known), [&](const auto& each) {
        return std::ranges::find(known, each) == known.end();
      });
      return fail("`" + printable(name) + "` is not a fingerprint field that may vary",
                  did_you_mean(name, known));
    }
  }
  return free;
}

void add_differences(std::vector<FieldDifference>& differences, const Fingerprint::Entries& before,
                     const Fingerprint::Entries& after, FieldClass field_class) {
  for (const std::string& name : collect_names(before, after)) {
    FieldDifference difference{name, find(before, name), find(after, name), field_class};
    if (difference.before != difference.after) differences.push_back(std::move(difference));
  }
}

bool is_of_times(const std::string& field) { return field.starts_with(kOfTimes); }

bool is_of_counts(const std::string& field) {
  static const std::set<std::string> kOfCounts{"valgrind", "simulated_caches", "cpu_features",
                                               "cpu_capability"};
  return kOfCounts.contains(field) || (is_library_field(field) && !is_of_times(field));
}

// A run that measures nothing in Python does not look for an interpreter.
constexpr const char* kInterpreter = "python";

// True for a field that matters only for counts if a side has no counts, and for a field that
// matters only for times if a side has no times.
bool is_irrelevant(const FieldDifference& difference, const Fingerprint& before,
                   const Fingerprint& after) {
  if (difference.name == kInterpreter) return !difference.before || !difference.after;
  const bool is_timed = is_of_times(difference.name);
  if (!is_timed && !is_of_counts(difference.name)) return false;
  auto lacks = [is_timed](const Fingerprint& side) {
    bool has_counts = !side.get("valgrind").empty();
    bool has_times = !side.get("timed_cpu_model").empty();
    return is_timed ? has_counts && !has_times : has_times && !has_counts;
  };
  return lacks(before) || lacks(after);
}

// Replaces the differences of libraries by a single one if a side lists no libraries.
void join_libraries(std::vector<FieldDifference>& differences, const Fingerprint& before,
                    const Fingerprint& after) {
  for (std::string_view of : {std::string_view(), kOfTimes}) {
    auto is_affected = [of](std::string_view name) {
      return is_library_field(name) && name.starts_with(kOfTimes) == !of.empty();
    };
    auto count_in = [&is_affected](const Fingerprint& side) {
      return std::ranges::count_if(
          side.entries, [&is_affected](const auto& entry) { return is_affected(entry.first); });
    };
    auto in_before = count_in(before);
    auto in_after = count_in(after);
    if ((in_before == 0) == (in_after == 0)) continue;
    auto erased =
        std::erase_if(differences, [&](const auto& each) { return is_affected(each.name); });
    if (erased == 0) continue;
    auto text = [](auto count) {
      return count == 0 ? std::nullopt : std::optional(std::to_string(count) + " recorded");
    };
    differences.push_back({std::string(of) + std::string(kLibraries), text(in_before),
                           text(in_after), FieldClass::kMustMatch});
  }
}

// In another release of a system all libraries differ: hundreds for its own LibTorch.
constexpr std::size_t kMaxLibrariesListed = 10;

// Orders libraries behind other fields: first those that most snippets use, last those of one side.
int rank(const FieldDifference& difference) {
  if (!is_library_field(difference.name)) return 0;
  const std::string_view name = without_times(difference.name);
  if (name.starts_with(kTorchLibrary)) return 2;
  const std::string_view library = name.substr(kLibrary.size());
  const bool is_languages =
      library == "libc.so.6" || library == "libm.so.6" || library == "libstdc++.so.6";
  if (is_languages) return 1;
  return difference.before && difference.after ? 3 : 4;
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

Expected<void> check_vary(const std::vector<std::string>& vary, const Fingerprint& before) {
  std::vector<std::string> names;
  for (const std::string& name : vary) {
    const bool may_be_library = name.starts_with("lib") || is_library_field(name);
    if (!may_be_library) names.push_back(name);
  }
  return groups_that_may_vary(names, collect_names(before.entries, {})).map([](auto&&) {});
}

Expected<std::vector<FieldDifference>> check_fingerprints(const Fingerprint& before,
                                                          const Fingerprint& after,
                                                          const std::vector<std::string>& vary) {
  TRY_ASSIGN(auto free, groups_that_may_vary(vary, collect_names(before.entries, after.entries)));
  std::vector<FieldDifference> differences;
  if (before.entries.empty() && after.entries.empty()) {
    differences.push_back({"fingerprint", std::nullopt, std::nullopt, FieldClass::kMustMatch});
  }
  add_differences(differences, before.entries, after.entries, FieldClass::kMustMatch);
  std::erase_if(differences, [&](const FieldDifference& difference) {
    return is_irrelevant(difference, before, after);
  });
  join_libraries(differences, before, after);
  for (FieldDifference& difference : differences) {
    if (is_freed(difference, free)) difference.field_class = FieldClass::kMayVary;
  }
  add_differences(differences, before.machine, after.machine, FieldClass::kInformative);
  std::ranges::stable_sort(differences, {}, &FieldDifference::field_class);
  return differences;
}

Expected<Fingerprint::Entries> select_fields(const Fingerprint& fingerprint, const MeasuredAs& as,
                                             const std::vector<std::string>& vary) {
  TRY_ASSIGN(auto free, groups_that_may_vary(vary, collect_names(fingerprint.entries, {})));
  Fingerprint::Entries entries = fingerprint.entries;
  std::erase_if(entries, [&](const auto& entry) {
    const auto& [name, value] = entry;
    if (name == kInterpreter && as.language != Language::kPython) return true;
    if (as.is_timed ? is_of_counts(name) : is_of_times(name)) return true;
    const FieldDifference field{name, value, value, FieldClass::kMustMatch};
    return is_freed(field, free);
  });
  return entries;
}

std::vector<std::string> suggest_vary(const std::vector<FieldDifference>& differences) {
  std::vector<FieldDifference> left = differences;
  std::erase_if(left, [](const auto& each) { return each.field_class != FieldClass::kMustMatch; });
  std::vector<std::string> names;
  while (!left.empty()) {
    auto freed = [&left](const Group& group) {
      return std::ranges::count_if(left, [&](const auto& each) { return group.frees(each); });
    };
    const auto best = std::ranges::max_element(groups(), {}, freed);
    if (freed(*best) == 0) {
      for (const FieldDifference& difference : left) names.push_back(difference.name);
      break;
    }
    names.push_back(best->name);
    std::erase_if(left, [&best](const auto& each) { return best->frees(each); });
  }
  return names;
}

bool is_comparable(const std::vector<FieldDifference>& differences) {
  return std::ranges::count(differences, FieldClass::kMustMatch, &FieldDifference::field_class) ==
         0;
}

std::vector<std::string> list_differences(const std::vector<FieldDifference>& differences,
                                          FieldClass field_class) {
  std::vector<FieldDifference> listed = differences;
  std::erase_if(listed, [&](const auto& each) { return each.field_class != field_class; });
  std::ranges::stable_sort(listed, {}, rank);
  std::vector<std::string> lines;
  std::size_t libraries = 0;
  for (const FieldDifference& difference : listed) {
    if (is_library_field(difference.name) && ++libraries > kMaxLibrariesListed) continue;
    lines.push_back(to_string(difference));
  }
  if (libraries > kMaxLibrariesListed) {
    lines.push_back(
        "other libraries that differ: " + std::to_string(libraries - kMaxLibrariesListed) +
        ", all named in the results files");
  }
  return lines;
}

std::string to_string(const FieldDifference& difference) {
  if (!difference.before && !difference.after) {
    return printable(difference.name) + ": neither side recorded it";
  }
  auto text = [](const std::optional<std::string>& value) {
    if (!value) return std::string("not recorded");
    return value->empty() ? std::string("empty") : printable(*value);
  };
  return printable(difference.name) + ": " + text(difference.before) + ", then " +
         text(difference.after);
}

}  // namespace instr
