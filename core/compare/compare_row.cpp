#include "core/compare/compare_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/format.h"
#include "core/values/significance.h"

namespace instr {

namespace {

enum class Side { kAbsent, kCounted, kSkipped, kFailed };

Side side_of(const Measurement* measurement) {
  if (measurement == nullptr) return Side::kAbsent;
  if (std::holds_alternative<Counted>(measurement->outcome)) return Side::kCounted;
  const auto* failure = std::get_if<Failure>(&measurement->outcome);
  if (failure == nullptr || failure->kind == FailureKind::kUnsupported) return Side::kSkipped;
  return Side::kFailed;
}

const Counted* counted_of(const Measurement* measurement) {
  return measurement == nullptr ? nullptr : std::get_if<Counted>(&measurement->outcome);
}

// Why there is no count.
std::string reason_of(const Measurement& measurement) {
  if (const auto* skipped = std::get_if<Skipped>(&measurement.outcome)) return skipped->reason;
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  if (failure == nullptr) return "";
  if (failure->kind == FailureKind::kUnsupported) return failure->message;
  std::string kind = to_string(failure->kind);
  return failure->message.empty() ? kind : kind + ": " + failure->message;
}

// The metrics of both, in the order of limit_metrics(), then of their names.
std::vector<std::string> metric_names(const Counted* before, const Counted* after) {
  std::set<std::string> found;
  for (const Counted* counted : {before, after}) {
    if (counted == nullptr) continue;
    for (const auto& [name, value] : counted->metrics) found.insert(name);
  }
  std::vector<std::string> names;
  for (const std::string& name : limit_metrics()) {
    if (found.erase(name) > 0) names.push_back(name);
  }
  names.insert(names.end(), found.begin(), found.end());
  return names;
}

// A number that is none (a file edited by hand may hold it) is no value.
std::optional<double> value_of(const Counted* counted, const std::string& metric) {
  if (counted == nullptr) return std::nullopt;
  auto found = counted->metrics.find(metric);
  if (found == counted->metrics.end() || !std::isfinite(found->second)) return std::nullopt;
  return found->second;
}

Expected<void> add_limits_of(const Measurement* measurement, std::map<std::string, Limit>& limits) {
  if (measurement == nullptr) return {};
  for (const auto& [metric, text] : measurement->variant.limits) {
    auto limit = parse_limit(text);
    if (!limit) {
      return fail(fmt::format("the limit of {} that the results carry for `{}`: {}",
                              printable(metric), printable(measurement->variant.key),
                              printable(limit.error().what)),
                  limit.error().advice);
    }
    limits.emplace(metric, *limit);
  }
  return {};
}

// What the row is held against, the most particular limit of each metric.
Expected<Limits> limits_of(const std::string& key, const MeasurementPair& pair,
                           const CompareOptions& options) {
  Limits limits;
  if (auto own = options.by_key.find(key); own != options.by_key.end()) limits = own->second;
  for (const Measurement* measurement : {pair.after, pair.before}) {
    if (auto added = add_limits_of(measurement, limits.hard); !added) {
      return tl::unexpected(added.error());
    }
  }
  limits.hard.insert(options.limits.hard.begin(), options.limits.hard.end());
  limits.soft.insert(options.limits.soft.begin(), options.limits.soft.end());
  return limits;
}

std::optional<Limit> limit_of(const std::map<std::string, Limit>& limits,
                              const std::string& metric) {
  auto found = limits.find(metric);
  if (found == limits.end() || found->second.is_none()) return std::nullopt;
  return found->second;
}

// Just at the limit is within it, whatever the last bit of the percentage says.
bool is_beyond(double growth, const std::optional<Limit>& limit, double before) {
  return limit && growth > allowance(*limit, before) * (1 + 1e-12);
}

Verdict judge(const MetricChange& metric) {
  auto change = metric.change();
  if (!change) return Verdict::kPasses;
  if (is_beyond(*change, metric.hard, *metric.before)) return Verdict::kFails;
  if (is_beyond(*change, metric.soft, *metric.before)) return Verdict::kWarns;
  if (is_beyond(-*change, metric.hard, *metric.before)) return Verdict::kGain;
  return Verdict::kPasses;
}

// Of a metric that is a time, and whose repetitions are known on both sides.
std::optional<double> chance_of(const std::string& metric, const Counted* before,
                                const Counted* after) {
  if (before == nullptr || after == nullptr || !before->timing || !after->timing) return std::nullopt;
  const RepeatedTime* time = repeated_time(metric);
  if (time == nullptr) return std::nullopt;
  auto found = speedup(*before->timing.*time->values, *after->timing.*time->values);
  return found ? std::optional(found->p) : std::nullopt;
}

std::vector<MetricChange> metrics_of(const Counted* before, const Counted* after,
                                     const Limits& limits) {
  std::vector<MetricChange> metrics;
  for (const std::string& name : metric_names(before, after)) {
    metrics.push_back({name, value_of(before, name), value_of(after, name),
                       limit_of(limits.hard, name), limit_of(limits.soft, name)});
    metrics.back().p = chance_of(name, before, after);
  }
  return metrics;
}

RowState state_of(const std::vector<MetricChange>& metrics) {
  for (const MetricChange& metric : metrics) {
    double change = metric.change().value_or(0);
    if (change != 0) return change > 0 ? RowState::kSlower : RowState::kFaster;
  }
  return RowState::kSame;
}

void raise(ComparedRow& row, Verdict verdict) { row.verdict = std::max(row.verdict, verdict); }

void add_reason(ComparedRow& row, const std::string& reason) {
  row.reason += (row.reason.empty() ? "" : "; ") + reason;
}

// The instructions of both blocks of a count, lowest first.
std::pair<double, double> blocks_of(const Counted& counted) {
  auto found = counted.metrics.find("ir");
  double ir = found == counted.metrics.end() ? 0 : found->second;
  if (counted.steady) return {ir, ir};
  return std::minmax({ir, counted.first_block_ir, counted.second_block_ir});
}

// Whether counts that are not steady lie so far apart that they show a change beyond the hard limit
// all the same.
bool is_beyond_doubt(const Counted& before, const Counted& after, const MetricChange& ir) {
  auto [least_before, most_before] = blocks_of(before);
  auto [least_after, most_after] = blocks_of(after);
  return is_beyond(least_after - most_before, ir.hard, most_before) ||
         is_beyond(least_before - most_after, ir.hard, least_before);
}

std::string unsteady_reason(const Counted& before, const Counted& after) {
  std::string reason = "not steady";
  for (const auto& [counted, when] : {std::pair{&before, "before"}, std::pair{&after, "after"}}) {
    if (counted->steady) continue;
    reason += fmt::format(" {} ({}, then {})", when, format_count(counted->first_block_ir),
                          format_count(counted->second_block_ir));
  }
  return reason;
}

// Whether the instructions of the two can be told apart or told equal.
bool tells(ComparedRow& row, const Counted& before, const Counted& after) {
  const MetricChange* ir = row.metric("ir");
  if (ir == nullptr || !ir->change() || (before.steady && after.steady)) return true;
  bool equal = *ir->change() == 0 && blocks_of(before) == blocks_of(after);
  bool beyond_doubt = is_beyond_doubt(before, after, *ir);
  if (!equal) add_reason(row, unsteady_reason(before, after));
  return equal || beyond_doubt;
}

// Metrics that one side alone has and that a limit waits for: what was measured must not go unseen,
// and what is new has no baseline yet.
void take_lost_metrics(ComparedRow& row, const CompareOptions& options) {
  for (const MetricChange& metric : row.metrics) {
    if (!metric.hard || metric.before.has_value() == metric.after.has_value()) continue;
    bool is_lost = metric.before.has_value();
    const char* side = is_lost ? "after" : "before";
    add_reason(row, fmt::format("no {} {}", printable(metric.metric), side));
    raise(row, is_lost && !options.allow_not_comparable ? Verdict::kFails : Verdict::kWarns);
    if (is_lost || metric.metric == "ir") row.state = RowState::kNotComparable;
  }
}

void compare_counts(ComparedRow& row, const Counted& before, const Counted& after,
                    const CompareOptions& options) {
  if (!before.gated || !after.gated) {
    row.state = RowState::kNotComparable;
    row.reason = "more than one thread: the count depends on scheduling";
    return;
  }
  bool any = false;
  bool told = tells(row, before, after);
  for (MetricChange& metric : row.metrics) {
    any = any || metric.change();
    if (told || metric.metric != "ir") metric.verdict = judge(metric);
    raise(row, metric.verdict);
  }
  row.state = told ? state_of(row.metrics) : RowState::kNotComparable;
  if (!told) raise(row, Verdict::kWarns);
  take_lost_metrics(row, options);
  if (any) return;
  row.state = RowState::kNotComparable;
  add_reason(row, "no metric has a value on both sides");
  raise(row, options.allow_not_comparable ? Verdict::kWarns : Verdict::kFails);
}

// The state of a row that is not counted on both sides.
RowState state_of(Side before, Side after) {
  if (after == Side::kAbsent) return RowState::kMissing;
  if (after == Side::kSkipped) return RowState::kSkipped;
  if (after == Side::kFailed) {
    return before == Side::kFailed ? RowState::kFailedBoth : RowState::kFailedAfter;
  }
  return before == Side::kFailed ? RowState::kFailedBefore : RowState::kNew;
}

Verdict verdict_of(RowState state, Side before, const CompareOptions& options) {
  auto unless = [](bool allowed, Verdict otherwise) {
    return allowed ? otherwise : Verdict::kFails;
  };
  switch (state) {
    case RowState::kNew:
    case RowState::kFailedBefore: return unless(options.allow_new, Verdict::kPasses);
    case RowState::kMissing: return unless(options.allow_missing, Verdict::kWarns);
    // What was counted and no longer is has gone, for whatever reason.
    case RowState::kSkipped:
      return before == Side::kCounted ? unless(options.allow_missing, Verdict::kWarns)
                                      : Verdict::kPasses;
    case RowState::kFailedAfter:
    case RowState::kFailedBoth: return unless(options.allow_failed, Verdict::kWarns);
    default: return Verdict::kPasses;
  }
}

std::string reason_of(RowState state, const MeasurementPair& pair) {
  if (state == RowState::kMissing || state == RowState::kNew) {
    const Measurement* there = pair.before;
    if (side_of(there) == Side::kSkipped) return "skipped before: " + reason_of(*there);
    if (side_of(there) == Side::kFailed) return "failed before: " + reason_of(*there);
    return "";
  }
  return reason_of(state == RowState::kFailedBefore ? *pair.before : *pair.after);
}

}  // namespace

Expected<ComparedRow> compare_row(const std::string& key, const MeasurementPair& pair,
                                  const CompareOptions& options) {
  auto limits = limits_of(key, pair, options);
  if (!limits) return tl::unexpected(limits.error());
  ComparedRow row;
  row.key = key;
  const Counted* before = counted_of(pair.before);
  const Counted* after = counted_of(pair.after);
  row.metrics = metrics_of(before, after, *limits);
  if (before != nullptr && after != nullptr) {
    compare_counts(row, *before, *after, options);
    return row;
  }
  Side side_before = side_of(pair.before);
  row.state = state_of(side_before, side_of(pair.after));
  row.verdict = verdict_of(row.state, side_before, options);
  row.reason = reason_of(row.state, pair);
  return row;
}

}  // namespace instr
