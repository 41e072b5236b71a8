#include "core/run/merge_shards.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "core/base/format.h"

namespace instr {

namespace {

// Checks that each shard is given once: the benchmarks of a missing one would look removed. Returns
// false if one is missing, and that is allowed.
Expected<bool> check_shards(const std::vector<ResultSet>& parts, bool allow_missing) {
  std::map<int, std::string> seen;
  int count = 0;
  for (const ResultSet& part : parts) {
    const auto& shard = part.results.header.shard;
    if (!shard) continue;
    if (count != 0 && shard->count != count) {
      return fail(fmt::format("{} is one of {} shards, {} one of {}", part.name, shard->count,
                              seen.begin()->second, count),
                  "merge the shards of one run");
    }
    count = shard->count;
    auto [first, is_new] = seen.emplace(shard->index, part.name);
    if (!is_new) {
      return fail(fmt::format("{} and {} are both shard {}/{}", first->second, part.name,
                              shard->index, count),
                  "name each shard's file once");
    }
  }
  std::string missing;
  for (int i = 1; i <= count; ++i) {
    if (!seen.contains(i)) missing += fmt::format("{}{}/{}", missing.empty() ? "" : ", ", i, count);
  }
  if (missing.empty() || allow_missing) return missing.empty();
  return fail("missing: shard " + missing, "name all files of the run, or add --allow-missing");
}

// Checks that all parts were measured alike, of one commit; a shard without benchmarks has no
// fingerprint.
Expected<void> check_alike(const std::vector<ResultSet>& parts,
                           const std::vector<std::string>& vary) {
  const ResultSet* first = nullptr;  // the first part with a measurement
  for (const ResultSet& part : parts) {
    if (part.results.measurements.empty()) continue;
    if (first == nullptr) first = &part;
    auto checked = check_comparable({*first, false, {}}, part.results.header, vary);
    if (!checked) {
      Error error = checked.error();
      error.what = fmt::format("{}, {}: {}", first->name, part.name, error.what);
      return fail(error);
    }
    if (first->results.header.commit != part.results.header.commit) {
      return fail(fmt::format("{} and {} are not of the same commit", first->name, part.name),
                  "merge the parts of one run");
    }
  }
  return {};
}

}  // namespace

Expected<ResultSet> merge(std::vector<ResultSet> parts, const GateOptions& gate) {
  TRY_ASSIGN(auto has_all, check_shards(parts, gate.allow_missing_shards));
  TRY(check_alike(parts, gate.vary));
  ResultSet whole{"merged", {}, {}, {}};
  whole.results.is_complete = has_all;
  std::map<std::string, std::size_t> part_of;
  std::set<std::string> strangers;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Results& part = parts[i].results;
    whole.results.is_complete = whole.results.is_complete && part.is_complete;
    strangers.insert(part.header.strangers.begin(), part.header.strangers.end());
    if (whole.results.measurements.empty()) whole.results.header = part.header;
    for (Measurement& measurement : part.measurements) {
      auto [first, is_new] = part_of.emplace(measurement.variant.key, i);
      if (!is_new) {
        return fail(fmt::format("{} and {} both have `{}`", parts[first->second].name,
                                parts[i].name, printable(measurement.variant.key)),
                    "merge the parts of one run");
      }
      whole.results.measurements.push_back(std::move(measurement));
    }
  }
  whole.results.header.shard.reset();
  whole.results.header.strangers.assign(strangers.begin(), strangers.end());
  const auto all = std::make_shared<const std::vector<ResultSet>>(std::move(parts));
  const auto from_parts = [&](auto ResultSet::*things) {
    return [all, part_of, things](const std::string& key) {
      using Result = decltype((all->front().*things)(key));
      auto part = part_of.find(key);
      return part == part_of.end() ? Result{} : ((*all)[part->second].*things)(key);
    };
  };
  whole.functions = from_parts(&ResultSet::functions);
  whole.call_trees = from_parts(&ResultSet::call_trees);
  whole.lines = from_parts(&ResultSet::lines);
  whole.device_events = from_parts(&ResultSet::device_events);
  return whole;
}

}  // namespace instr
