#include "core/run/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output_file.h"
#include "core/base/read_file.h"
#include "core/compare/expected_values.h"
#include "core/compile/installation.h"
#include "core/definitions/metrics.h"
#include "core/results/baselines.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

tl::expected<Reference, Errors> read_expected(const std::string& file,
                                              const std::vector<Variant>& variants) {
  return read_expected_counts(file, variants).map([&file](ExpectedCounts&& counts) {
    ResultSet set{file, std::move(counts.baseline), {}};
    return Reference{std::move(set), true, std::move(counts.limits)};
  });
}

constexpr std::string_view kRelease = "release:";

Expected<fs::path> find_release(const std::string& version) {
  const fs::path folder = find_installation().suites / "releases";
  std::vector<std::string> known;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    known.push_back(entry.path().stem().string());
    if (known.back() == version) return entry.path();
  }
  std::ranges::sort(known);
  return fail("there are no counts of the release `" + version + "` of torch",
              did_you_mean(version, known));
}

}  // namespace

tl::expected<Reference, Errors> read_reference(const std::string& name_or_file,
                                               Incomplete incomplete) {
  if (name_or_file.starts_with(kRelease)) {
    TRY_ASSIGN(const auto file, find_release(name_or_file.substr(kRelease.size())));
    TRY_ASSIGN(auto set, read_result_set(file, name_or_file, incomplete));
    return Reference{std::move(set), false, {}, true};
  }
  TRY_ASSIGN(auto set, find_baseline(name_or_file).and_then([&](const fs::path& file) {
    return read_result_set(file, name_or_file, incomplete);
  }));
  return Reference{std::move(set), false, {}};
}

tl::expected<std::optional<Reference>, Errors> find_reference(
    const GateOptions& gate, const Selection& selection, const std::vector<Variant>& variants) {
  if (!gate.has_reference()) return std::nullopt;
  TRY_ASSIGN(auto reference, gate.baseline ? read_reference(*gate.baseline, gate.incomplete)
                                           : read_expected(gate.expect->string(), variants));
  TRY(check_shard(reference, selection.shard, gate.incomplete));
  if (!reference.is_expected) {
    TRY(check_vary(gate.vary, reference.set.results.header.fingerprint));
  }
  std::set<std::string> keys;
  for (const Variant& variant : variants) keys.insert(variant.key);
  reference.set = keep_selected(
      std::move(reference.set),
      [&, is_release = reference.is_release, selected = make_selector(selection)](auto& variant) {
        return keys.contains(variant.key) || (!is_release && selected(variant));
      });
  return std::optional(std::move(reference));
}

Expected<void> check_shard(const Reference& before, const std::optional<Shard>& after,
                           Incomplete incomplete) {
  const auto& shard = before.set.results.header.shard;
  if (!shard || shard == after || incomplete == Incomplete::kAllowed) return {};
  return fail(fmt::format("{} is only shard {}/{}", before.set.name, shard->index, shard->count),
              "merge the shards of its run, or add --allow-incomplete");
}

tl::expected<Gate, Errors> open_gate(const GateOptions& options) {
  Gate gate{options.compare, {}, {}};
  TRY_ASSIGN(gate.compare.accepted,
             read_accepted(options.accepted.value_or(default_accepted_file())));
  if (!options.limits_file) return gate;
  TRY_ASSIGN(gate.limits_file, read_limits_file(*options.limits_file));
  if (!options.base_limits_file) return gate;
  TRY_ASSIGN(gate.base_limits_file, read_limits_file(*options.base_limits_file));
  return gate;
}

tl::expected<void, Errors> check_update(const GateOptions& options) {
  if (!options.update_expected) return {};
  constexpr FileKind kAny{"expected counts", [](std::string_view) { return true; }};
  TRY(OutputFile::open(*options.expect, kAny));
  TRY_ASSIGN(auto source, SourceText::read_if_exists(*options.expect));
  return check_expected_counts(source);
}

Expected<std::vector<FieldDifference>> check_comparable(const Reference& before,
                                                        const ResultsHeader& after,
                                                        const std::vector<std::string>& vary) {
  if (before.is_expected) return std::vector<FieldDifference>{};
  std::vector<std::string> all = vary;
  if (before.is_release) all.insert(all.end(), {"libtorch", "libraries", "cuda_stand_in"});
  auto differences =
      check_fingerprints(before.set.results.header.fingerprint, after.fingerprint, all);
  if (!differences || is_comparable(*differences)) return differences;
  std::string list;
  for (const std::string& line : list_differences(*differences, FieldClass::kMustMatch)) {
    list += "\n  " + line;
  }
  return fail(
      fmt::format("the two were measured differently (measure both alike or, if the difference is "
                  "under test, add --vary={}):{}",
                  fmt::join(suggest_vary(*differences), ","), list));
}

namespace {

// Removes metrics for which nothing is expected.
void keep_expected_metrics(ResultSet& after, const ResultSet& expected) {
  std::map<std::string, const Counted*> counts;
  for (const Measurement& measurement : expected.results.measurements) {
    counts[measurement.variant.key] = std::get_if<Counted>(&measurement.outcome);
  }
  for (Measurement& measurement : after.results.measurements) {
    auto* counted = std::get_if<Counted>(&measurement.outcome);
    auto count = counts.find(measurement.variant.key);
    if (counted == nullptr || count == counts.end()) continue;
    std::erase_if(counted->metrics, [&count](const auto& metric) {
      return !count->second->metrics.contains(metric.first);
    });
  }
}

std::set<std::string> list_keys(const ResultSet& set) {
  std::set<std::string> keys;
  for (const Measurement& measurement : set.results.measurements) {
    keys.insert(measurement.variant.key);
  }
  return keys;
}

bool has_metric(const ResultSet& set, const std::string& metric) {
  const auto& all = set.results.measurements;
  return std::any_of(all.begin(), all.end(), [&metric](const Measurement& measurement) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    return counted != nullptr && counted->metrics.contains(metric);
  });
}

// Refuses a hard limit on a metric that was not measured, which would pass by accident: unusual
// metrics are measured only on request.
Expected<void> check_limits_apply(const ResultSet& before, const ResultSet& after,
                                  const Gate& gate) {
  std::map<std::string, Limit> limits = gate.compare.limits.hard;
  const LimitsFile& file = gate.base_limits_file ? *gate.base_limits_file : gate.limits_file;
  for (const LimitsEntry& entry : file) {
    limits.insert(entry.limits.hard.begin(), entry.limits.hard.end());
  }
  for (const Metric& usual : kUsualMetrics) limits.erase(usual.name);
  for (const auto& [metric, limit] : limits) {
    if (has_metric(before, metric) || has_metric(after, metric)) continue;
    return fail(fmt::format("there is a limit for {}, but no result has it", metric),
                fmt::format("measure both with --metrics=instructions,{}", metric));
  }
  return {};
}

}  // namespace

Expected<Comparison> compare_with(const Reference& before, const ResultSet& after,
                                  const Gate& gate) {
  TRY(check_limits_apply(before.set, after, gate));
  CompareOptions options = gate.compare;
  std::set<std::string> missing = list_keys(before.set);
  std::set<std::string> measured = list_keys(after);
  std::vector<std::string> keys;
  std::set_union(missing.begin(), missing.end(), measured.begin(), measured.end(),
                 std::back_inserter(keys));
  for (const std::string& key : measured) missing.erase(key);
  ResolvedLimits patterns = resolve_limits(gate.limits_file, keys, missing);
  options.by_key = std::move(patterns.by_key);
  if (gate.base_limits_file) {
    options.by_key_before = resolve_limits(*gate.base_limits_file, keys).by_key;
  }
  options.base_has_limits = !before.is_expected;
  options.margins = before.margins;
  ResultSet expected;
  if (before.is_expected) {
    expected = after;
    keep_expected_metrics(expected, before.set);
  }
  TRY_ASSIGN(auto comparison, compare(before.set, before.is_expected ? expected : after, options));
  for (const Error& error : patterns.unmatched) {
    comparison.problems.push_back(to_string(error));
    comparison.verdict = std::max(comparison.verdict, Verdict::kWarns);
  }
  return comparison;
}

}  // namespace instr
