#include "core/engine/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/format.h"
#include "core/base/output_file.h"
#include "core/base/read_file.h"
#include "core/compare/expected_counts.h"
#include "core/definitions/metrics.h"
#include "core/results/baselines.h"
#include "core/results/experiment_log.h"
#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

// If a count is not the sum of its functions' costs, or of its call paths', one of the two was
// edited.
tl::unexpected<Error> wrong_sum(const fs::path& file, const std::string& key, double ir,
                                const SideKind& kind, double sum) {
  return tl::unexpected(
      Error{{file.string()},
            fmt::format("`{}` has {} instructions, and its {}, in {}, have {} together",
                        printable(key), ir, kind.things, side_path(file, kind).string(), sum),
            "one of the two was edited: measure again"});
}

using Counts = std::unordered_map<std::string, double>;

// The instructions, by key, of each count that can be read.
std::shared_ptr<const Counts> counts_of(const Results& results) {
  auto counts = std::make_shared<Counts>();
  for (const Measurement& one : results.measurements) {
    const auto* counted = std::get_if<Counted>(&one.outcome);
    if (counted == nullptr) continue;
    const auto ir = counted->metrics.find(kInstructions);
    if (ir != counted->metrics.end()) (*counts)[one.variant.key] = ir->second;
  }
  return counts;
}

// The functions of a results file, each sum checked.
Expected<FunctionsOf> checked_functions(const fs::path& file, const Results& results,
                                        const Counts& counts, Incomplete incomplete) {
  return open_functions(file, results.header_line, incomplete,
                        [&](const std::string& key, const FunctionsSum& sum) -> Expected<void> {
                          const auto ir = counts.find(key);
                          if (ir == counts.end() || sum.is(ir->second)) return {};
                          return wrong_sum(file, key, ir->second, kFunctionsFile, sum.total());
                        });
}

// The same of call trees, each when it is needed.
CallTreesOf with_checked_sums(CallTreesOf trees, const fs::path& file,
                              std::shared_ptr<const Counts> counts) {
  return [trees = std::move(trees), file, counts = std::move(counts)](
             const std::string& key) -> Expected<std::shared_ptr<const CallTree>> {
    auto tree = trees(key);
    const auto ir = counts->find(key);
    if (!tree || !*tree || ir == counts->end()) return tree;
    const double total = (*tree)->per_iteration((*tree)->nodes[0].total);
    if (std::fabs(total - ir->second) <= 1e-6 + std::fabs(ir->second) * 1e-11) return tree;
    return wrong_sum(file, key, ir->second, kCallTreesFile, total);
  };
}

// Of at least one.
ResultSet result_set_of(std::string name, const std::vector<ExperimentRecord>& experiments) {
  ResultSet set{std::move(name), {}, {}};
  const ExperimentRecord& first = experiments.front();
  set.results.header.started = first.timestamp;
  set.results.header.fingerprint.entries = {{"libtorch_version", first.setting.libtorch},
                                            {"timed_cpu_model", first.setting.accelerator_model}};
  for (const ExperimentRecord& one : experiments) {
    set.results.measurements.push_back(measurement_of(one));
    auto* counted = std::get_if<Counted>(&set.results.measurements.back().outcome);
    if (counted != nullptr) counted->gated = false;
  }
  return set;
}

Expected<ResultSet> result_set_in(std::string_view bytes, const fs::path& file, std::string name,
                                  Incomplete incomplete) {
  TRY_ASSIGN(auto results, parse_results(bytes, file.string(), incomplete));
  const auto counts = counts_of(results);
  TRY_ASSIGN(auto functions, checked_functions(file, results, *counts, incomplete));
  TRY_ASSIGN(auto trees, read_side_file(file, kCallTreesFile));
  TRY_ASSIGN(auto lines, read_side_file(file, kLinesFile));
  const std::string header = results.header_line;
  return ResultSet{std::move(name), std::move(results), std::move(functions),
                   with_checked_sums(call_trees_in(trees, header, incomplete), file, counts),
                   line_costs_in(lines, header, incomplete)};
}

}  // namespace

Expected<ResultSet> read_result_set(const fs::path& file, std::string name, Incomplete incomplete) {
  const auto held = hold_baselines(file);
  return read_file(file, kMostResults, ReadFrom::kFilesAndPipes)
      .and_then([&](const std::string& bytes) {
        return result_set_in(bytes, file, std::move(name), incomplete);
      });
}

Expected<ResultSet> read_any_result_set(const fs::path& file, std::string name,
                                        Incomplete incomplete) {
  const auto held = hold_baselines(file);
  return read_file(file, kMostResults, ReadFrom::kFilesAndPipes)
      .and_then([&](const std::string& bytes) {
        if (!are_experiments(bytes)) return result_set_in(bytes, file, std::move(name), incomplete);
        return whole_experiments(bytes, name, incomplete).map([&name](const auto& experiments) {
          return result_set_of(std::move(name), experiments);
        });
      });
}

ResultSet result_set_of(std::string name, ResultsHeader header,
                        std::vector<Measurement> measurements) {
  std::map<std::string, std::vector<FunctionCost>> functions;
  std::map<std::string, std::shared_ptr<const CallTree>> trees;
  std::map<std::string, std::shared_ptr<const LineCosts>> lines;
  for (Measurement& measurement : measurements) {
    auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    if (counted->call_tree) trees[measurement.variant.key] = std::move(counted->call_tree);
    if (counted->lines) lines[measurement.variant.key] = std::move(counted->lines);
    if (counted->functions.empty()) continue;
    functions[measurement.variant.key] = std::move(counted->functions);
  }
  return {std::move(name),
          {std::move(header), std::move(measurements), true},
          functions_from(std::move(functions)),
          by_key(std::move(trees)),
          by_key(std::move(lines))};
}

ResultSet only(ResultSet set, const std::function<bool(const Variant&)>& selected) {
  std::erase_if(set.results.measurements,
                [&selected](const Measurement& one) { return !selected(one.variant); });
  return set;
}

namespace {

tl::expected<Reference, Errors> read_expected(const std::string& file) {
  return read_expected_counts(file).map([&file](ExpectedCounts&& counts) {
    ResultSet set{file, std::move(counts.baseline), {}};
    return Reference{std::move(set), true, std::move(counts.limits)};
  });
}

}  // namespace

tl::expected<Reference, Errors> read_reference(const std::string& name_or_file,
                                               Incomplete incomplete) {
  TRY_ASSIGN(auto set, find_baseline(name_or_file).and_then([&](const fs::path& file) {
    return read_result_set(file, name_or_file, incomplete);
  }));
  return Reference{std::move(set), false, {}};
}

tl::expected<std::optional<Reference>, Errors> find_reference(
    const GateOptions& gate, const Selection& selection, const std::vector<Variant>& variants) {
  if (!gate.has_reference()) return std::nullopt;
  TRY_ASSIGN(auto reference, gate.baseline ? read_reference(*gate.baseline, gate.incomplete)
                                           : read_expected(gate.expect->string()));
  TRY(check_shard(reference, selection.shard, gate.incomplete));
  if (!reference.is_expected) {
    TRY(check_vary(gate.vary, reference.set.results.header.fingerprint));
  }
  std::set<std::string> keys;
  for (const Variant& variant : variants) keys.insert(variant.key);
  reference.set = only(std::move(reference.set), [&, selected = selector(selection)](auto& one) {
    return keys.contains(one.key) || selected(one);
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
  TRY_ASSIGN(gate.compare.accepted, read_accepted(options.accepted.value_or(usual_accepted())));
  if (!options.limits_file) return gate;
  TRY_ASSIGN(gate.limits_file, read_limits_file(*options.limits_file));
  if (!options.base_limits_file) return gate;
  return read_limits_file(*options.base_limits_file).map([&gate](LimitsFile&& base) {
    gate.base_limits_file = std::move(base);
    return gate;
  });
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
  auto differences =
      check_fingerprints(before.set.results.header.fingerprint, after.fingerprint, vary);
  if (!differences || is_comparable(*differences)) return differences;
  std::string list;
  for (const std::string& line : lines_of(*differences, FieldClass::kMustMatch)) {
    list += "\n  " + line;
  }
  return fail(
      fmt::format("the two were measured differently (measure both alike or, if the difference is "
                  "under test, add --vary={}):{}",
                  fmt::join(vary_for(*differences), ","), list));
}

namespace {

// Unexpected benchmarks are not part of the comparison.
void leave_expected(ResultSet& after, const ResultSet& expected) {
  std::map<std::string, const Counted*> counts;
  for (const Measurement& one : expected.results.measurements) {
    counts[one.variant.key] = std::get_if<Counted>(&one.outcome);
  }
  for (Measurement& one : after.results.measurements) {
    auto* counted = std::get_if<Counted>(&one.outcome);
    auto found = counts.find(one.variant.key);
    if (counted == nullptr || found == counts.end()) continue;
    std::erase_if(counted->metrics, [&found](const auto& metric) {
      return !found->second->metrics.contains(metric.first);
    });
  }
}

std::set<std::string> keys_of(const ResultSet& set) {
  std::set<std::string> keys;
  for (const Measurement& one : set.results.measurements) keys.insert(one.variant.key);
  return keys;
}

bool has_metric(const ResultSet& set, const std::string& metric) {
  const auto& all = set.results.measurements;
  return std::any_of(all.begin(), all.end(), [&metric](const Measurement& one) {
    const auto* counted = std::get_if<Counted>(&one.outcome);
    return counted != nullptr && counted->metrics.contains(metric);
  });
}

// A hard limit on a metric that was not measured would pass by accident: unusual metrics are
// measured only on request.
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
                fmt::format("measure both with --metrics=ir,{}", metric));
  }
  return {};
}

}  // namespace

Expected<Comparison> compare_with(const Reference& before, const ResultSet& after,
                                  const Gate& gate) {
  TRY(check_limits_apply(before.set, after, gate));
  CompareOptions options = gate.compare;
  std::set<std::string> missing = keys_of(before.set);
  std::set<std::string> measured = keys_of(after);
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
  for (const auto& [key, margins] : before.margins) {
    Limits limits = margins;
    limits.hard.insert(options.by_key[key].hard.begin(), options.by_key[key].hard.end());
    limits.soft.insert(options.by_key[key].soft.begin(), options.by_key[key].soft.end());
    options.by_key[key] = std::move(limits);
  }
  ResultSet expected;
  if (before.is_expected) {
    expected = after;
    leave_expected(expected, before.set);
  }
  return compare(before.set, before.is_expected ? expected : after, options)
      .map([&patterns](Comparison&& comparison) {
        for (const Error& error : patterns.unmatched) {
          comparison.problems.push_back(to_string(error));
          comparison.verdict = std::max(comparison.verdict, Verdict::kWarns);
        }
        return std::move(comparison);
      });
}

}  // namespace instr
