#include "core/compare/expected_counts.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "core/base/replace_file.h"
#include "core/compare/expected_counts_file.h"

namespace instr {
namespace {

ExpectedCounts make_baseline(const std::vector<ExpectedCount>& counts) {
  ExpectedCounts expected;
  auto& measurements = expected.baseline.measurements;
  std::map<std::string, std::size_t> places;
  for (const ExpectedCount& count : counts) {
    const auto [place, is_new] = places.emplace(count.key, measurements.size());
    Limits& limits = expected.limits[count.key];
    if (is_new) {
      Measurement& made = measurements.emplace_back();
      made.variant = parse_key(count.key);
      made.outcome = Counted{};
      std::get<Counted>(made.outcome).steady = true;
      for (const std::string& metric : limit_metrics())
        limits.hard[metric] = limits.soft[metric] = {};
    }
    auto& counted = std::get<Counted>(measurements[place->second].outcome);
    counted.metrics[count.metric] = count.value;
    if (count.metric == kInstructions)
      counted.first_block_instructions = counted.second_block_instructions = count.value;
    limits.hard.erase(count.metric);
    if (count.margin) {
      limits.hard[count.metric] = *count.margin;
    } else {
      limits.soft.erase(count.metric);
    }
  }
  return expected;
}

// Returns the reproducible numbers of a measurement, by metric.
std::map<std::string, double> select_exact_counts(const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr || !counted->gated || !counted->steady) return {};
  std::map<std::string, double> counts = counted->metrics;
  std::erase_if(counts,
                [](const auto& count) { return !std::isfinite(count.second) || count.second < 0; });
  return counts;
}

// Returns the metrics of the file, or all metrics if it has no count.
std::vector<std::string> list_metrics(const std::vector<ExpectedCount>& counts) {
  if (counts.empty()) return limit_metrics();
  std::set<std::string> metrics;
  for (const ExpectedCount& count : counts) metrics.insert(count.metric);
  return {metrics.begin(), metrics.end()};
}

using CountsByKey = std::map<std::string, std::map<std::string, double>>;

// Uses the first of two measurements of a key.
CountsByKey select_exact_counts(const std::vector<Measurement>& measurements) {
  CountsByKey counts;
  for (const Measurement& measurement : measurements) {
    const std::string& key = measurement.variant.key;
    if (!key.empty()) counts.emplace(key, select_exact_counts(measurement));
  }
  return counts;
}

void round_counts(CountsByKey& counts) {
  for (auto& [key, values] : counts) {
    for (auto& [metric, value] : values) value = std::round(value);
  }
}

// Changes the counts that were measured, and removes keys that were selected and not measured.
void update_known(std::vector<ExpectedCount>& counts, const CountsByKey& measured,
                  const IsSelected& is_selected, ExpectedUpdate& update) {
  std::set<std::string> removed;
  for (ExpectedCount& count : counts) {
    const auto values = measured.find(count.key);
    if (values == measured.end()) {
      if (is_selected(count.key)) removed.insert(count.key);
      continue;
    }
    const auto value = values->second.find(count.metric);
    if (value == values->second.end() || value->second == count.value) continue;
    count.value = value->second;
    ++update.changed;
  }
  std::erase_if(counts,
                [&removed](const ExpectedCount& count) { return removed.contains(count.key); });
  update.removed = removed.size();
}

// Adds the keys that the file does not have, with these metrics.
void add_new(std::vector<ExpectedCount>& counts, CountsByKey measured,
             const std::vector<std::string>& metrics, ExpectedUpdate& update) {
  for (const ExpectedCount& count : counts) measured.erase(count.key);
  for (const auto& [key, values] : measured) {
    const std::size_t before = counts.size();
    for (const std::string& metric : metrics) {
      const auto value = values.find(metric);
      if (value != values.end()) counts.push_back({"", key, metric, value->second});
    }
    if (counts.size() > before) ++update.added;
  }
}

// Returns the keys of benchmarks with a single variant, by their labels.
KeysByName keys_by_name(std::span<const Variant> variants) {
  KeysByName keys;
  std::set<std::string> ambiguous;
  for (const Variant& variant : variants) {
    const bool is_new = keys.emplace(variant.label, variant.key).second;
    if (!is_new) ambiguous.insert(variant.label);
  }
  for (const std::string& label : ambiguous) keys.erase(label);
  return keys;
}

}  // namespace

tl::expected<ExpectedCounts, Errors> parse_expected_counts(const SourceText& source,
                                                           std::span<const Variant> variants) {
  TRY_ASSIGN(const auto file, read_expected_file(source, keys_by_name(variants)));
  if (!file.lines.empty()) return make_baseline(file.lines);
  return fail(Errors{{source.at(0, 0), "there is no expected count in this file",
                      "--update-expected writes those that are measured"}});
}

tl::expected<ExpectedCounts, Errors> read_expected_counts(const fs::path& file,
                                                          std::span<const Variant> variants) {
  TRY_ASSIGN(const auto source, SourceText::read(file));
  return parse_expected_counts(source, variants);
}

tl::expected<void, Errors> check_expected_counts(const SourceText& source) {
  return read_expected_file(source, {}).map([](const auto&) {});
}

tl::expected<ExpectedUpdate, Errors> update_expected_counts(
    const SourceText& source, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  std::vector<Variant> variants;
  for (const Measurement& measurement : measurements) variants.push_back(measurement.variant);
  TRY_ASSIGN(const auto before, read_expected_file(source, keys_by_name(variants)));
  ExpectedFile after = before;
  const bool is_pytorch = is_pytorch_form(source);
  CountsByKey measured = select_exact_counts(measurements);
  if (is_pytorch) round_counts(measured);  // its values are whole numbers
  ExpectedUpdate update;
  update_known(after.lines, measured, is_selected, update);
  add_new(after.lines, measured, list_metrics(before.lines), update);
  update.text =
      is_pytorch ? write_pytorch_counts(source, before, after) : write_counts(std::move(after));
  if (const auto readable = SourceText::checked(source.path(), update.text); !readable) {
    return fail(Errors{{{source.path()},
                        "a new key cannot be written: " + readable.error().what,
                        "rename the benchmark"}});
  }
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_in_place(const fs::path& file,
                                                     const MakeUpdate& make_update) {
  const fs::path target = follow_links(file);
  TRY_ASSIGN(const auto source, SourceText::read_if_exists(file));
  auto update = make_update(source);
  if (!update || (update->changed == 0 && update->added == 0 && update->removed == 0))
    return update;
  TRY(replace_file(target, source.with_line_ends(update->text)));
  return update;
}

tl::expected<ExpectedUpdate, Errors> update_expected_file(
    const fs::path& file, const std::vector<Measurement>& measurements,
    const IsSelected& is_selected) {
  return update_in_place(file, [&](const SourceText& source) {
    return update_expected_counts(source, measurements, is_selected);
  });
}

}  // namespace instr
