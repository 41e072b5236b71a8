#include "core/compare/compare_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/format.h"

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
    for (const auto& [name, why] : counted->lost) found.insert(name);
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

// What one side says the row is limited to, the most particular limit of each metric.
Expected<Limits> limits_of(const Measurement& measurement,
                           const std::map<std::string, Limits>& by_key, const Limits& otherwise) {
  const Variant& variant = measurement.variant;
  Limits limits;
  if (auto own = by_key.find(variant.key); own != by_key.end()) limits = own->second;
  for (const auto& [metric, text] : variant.limits) {
    auto limit = parse_limit(text);
    if (!limit) {
      return fail(
          fmt::format("the limit of {} that the results carry for `{}`: {}", printable(metric),
                      printable(variant.key), printable(limit.error().what)),
          limit.error().advice);
    }
    limits.hard.emplace(metric, *limit);
  }
  limits.hard.insert(otherwise.hard.begin(), otherwise.hard.end());
  limits.soft.insert(otherwise.soft.begin(), otherwise.soft.end());
  return limits;
}

std::optional<Limit> limit_of(const std::map<std::string, Limit>& limits,
                              const std::string& metric) {
  auto found = limits.find(metric);
  if (found == limits.end() || found->second.is_none()) return std::nullopt;
  return found->second;
}

void add_limit_changes(std::vector<LimitChange>& changes, bool is_soft,
                       const std::map<std::string, Limit>& before,
                       const std::map<std::string, Limit>& after) {
  std::set<std::string> metrics;
  for (const auto* limits : {&before, &after}) {
    for (const auto& [metric, limit] : *limits) metrics.insert(metric);
  }
  for (const std::string& metric : metrics) {
    LimitChange change{metric, is_soft, limit_of(before, metric), limit_of(after, metric)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
}

// Gives the limits that hold for the row, and notes those that the later side has otherwise.
Expected<Limits> settle_limits(ComparedRow& row, const MeasurementPair& pair,
                               const CompareOptions& options) {
  auto of_after = [&] { return limits_of(*pair.after, options.by_key, options.limits); };
  if (pair.before == nullptr || (!options.base_has_limits && pair.after != nullptr)) {
    return of_after();
  }
  const auto& by_key_before = options.by_key_before ? *options.by_key_before : options.by_key;
  auto before = limits_of(*pair.before, by_key_before, options.limits);
  if (!before || pair.after == nullptr) return before;
  auto after = of_after();
  if (!after) return after;
  add_limit_changes(row.limit_changes, false, before->hard, after->hard);
  add_limit_changes(row.limit_changes, true, before->soft, after->soft);
  return before;
}

Verdict judge(const MetricChange& metric) {
  auto change = metric.change();
  if (!change) return Verdict::kPasses;
  if (is_beyond(*change, metric.hard, *metric.before)) return Verdict::kFails;
  if (is_beyond(*change, metric.soft, *metric.before)) return Verdict::kWarns;
  if (is_beyond(-*change, metric.hard, *metric.before)) return Verdict::kGain;
  return Verdict::kPasses;
}

// Of a metric whose repetitions are known on both sides.
std::optional<Speedup> speedup_of(const std::string& metric, const Counted* before,
                                  const Counted* after) {
  if (before == nullptr || after == nullptr || !before->timing || !after->timing)
    return std::nullopt;
  return speedup(before->timing->of(metric), after->timing->of(metric));
}

std::vector<MetricChange> metrics_of(const Counted* before, const Counted* after,
                                     const Limits& limits) {
  std::vector<MetricChange> metrics;
  for (const std::string& name : metric_names(before, after)) {
    MetricChange metric{name, value_of(before, name), value_of(after, name),
                        limit_of(limits.hard, name), limit_of(limits.soft, name)};
    metric.speedup = speedup_of(name, before, after);
    // What is measured only on request has its default limit only where it was.
    const Metric* known = find_metric(name, kEventMetrics);
    const bool has_default = known != nullptr && !known->hard_limit.is_none();
    if (has_default && metric.before && metric.after && !limits.hard.contains(name)) {
      metric.hard = known->hard_limit;
    }
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

void raise(ComparedRow& row, Verdict verdict) { row.verdict = std::max(row.verdict, verdict); }

void add_reason(ComparedRow& row, const std::string& reason) {
  row.reason += (row.reason.empty() ? "" : "; ") + reason;
}

// What is beyond its limit passes if it was accepted.
void judge(MetricChange& metric, ComparedRow& row, const Acceptances& accepted) {
  metric.verdict = judge(metric);
  if (metric.verdict < Verdict::kWarns) return;
  const Acceptance* one =
      find_accepted(accepted, row.key, metric.metric, *metric.before, *metric.after);
  if (one == nullptr) return;
  metric.accepted = *one;
  metric.verdict = Verdict::kPasses;
  add_reason(row, metric.metric + " " + to_string(*one));
}

RowState state_of(const std::vector<MetricChange>& metrics) {
  for (const MetricChange& metric : metrics) {
    double change = metric.change().value_or(0);
    if (change != 0) return change > 0 ? RowState::kSlower : RowState::kFaster;
  }
  return RowState::kSame;
}

std::string unsteady_reason(const Counted& counted, const char* side) {
  return fmt::format("not steady {} ({})", side, unsteady_counts(counted));
}

// What cannot be compared fails, unless it may.
void give_up(ComparedRow& row, const std::string& reason, const CompareOptions& options) {
  row.state = RowState::kNotComparable;
  add_reason(row, reason);
  raise(row, options.allow_not_comparable ? Verdict::kWarns : Verdict::kFails);
}

// "no instructions before (base.jsonl:4: it is null)"
std::string lost_reason(const std::string& metric, const Counted& counted, const char* side) {
  std::string reason = fmt::format("no {} {}", printable(metric), side);
  auto why = counted.lost.find(metric);
  return why == counted.lost.end() ? reason : fmt::format("{} ({})", reason, why->second);
}

// Metrics that a side should have and lacks: those whose value was found to be none, and those with
// a limit that the other side has, unless no earlier result has them. What is newly asked for has
// no baseline yet.
void take_lost_metrics(ComparedRow& row, const Counted& before, const Counted& after,
                       const std::set<std::string>& known_before, const CompareOptions& options) {
  for (const MetricChange& metric : row.metrics) {
    const std::string& name = metric.metric;
    bool is_limited =
        (metric.hard || metric.soft) && metric.before.has_value() != metric.after.has_value();
    bool is_new = !metric.before && !known_before.contains(name);
    if (before.lost.contains(name) || (is_limited && !metric.before && !is_new)) {
      give_up(row, lost_reason(name, before, "before"), options);
    } else if (is_limited && is_new) {
      add_reason(row, fmt::format("no {} before, in any row", printable(name)));
      raise(row, Verdict::kWarns);
      if (name == kInstructions) row.state = RowState::kNotComparable;
    }
    if (after.lost.contains(name) || (is_limited && !metric.after)) {
      give_up(row, lost_reason(name, after, "after"), options);
    }
  }
}

void compare_counts(ComparedRow& row, const Counted& before, const Counted& after,
                    const std::set<std::string>& known_before, const CompareOptions& options) {
  if (!before.gated && !after.gated) {
    row.state = RowState::kNotComparable;
    row.reason = kWhyNotGated;
    return;
  }
  if (before.gated != after.gated) {
    return give_up(row, fmt::format("not gated {}", before.gated ? "after" : "before"), options);
  }
  if (!before.steady) {  // an earlier commit has made it so, and nothing can be said of this one
    row.state = RowState::kNotComparable;
    row.reason = unsteady_reason(before, "before");
    return;
  }
  if (!after.steady) return give_up(row, unsteady_reason(after, "after"), options);
  for (MetricChange& metric : row.metrics) {
    judge(metric, row, options.accepted);
    raise(row, metric.verdict);
  }
  row.state = state_of(row.metrics);
  take_lost_metrics(row, before, after, known_before, options);
  bool any = std::any_of(row.metrics.begin(), row.metrics.end(),
                         [](const MetricChange& metric) { return metric.change().has_value(); });
  if (!any) give_up(row, "no metric has a value on both sides", options);
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
    case RowState::kSame:
    case RowState::kSlower:
    case RowState::kFaster:
    case RowState::kNotComparable: break;
  }
  return Verdict::kPasses;
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

// An error if a limit on times could not fail whatever they are.
Expected<void> check_repetitions(const ComparedRow& row, const Counted& before,
                                 const Counted& after) {
  for (const MetricChange& metric : row.metrics) {
    if (!metric.hard || !metric.speedup) continue;
    const std::size_t known_before = before.timing->of(metric.metric).size();
    const std::size_t known_after = after.timing->of(metric.metric).size();
    if (can_differ(known_before, known_after)) continue;
    return fail(
        fmt::format("{} of {} cannot fail its limit: with {} before and {} after, no difference "
                    "exceeds chance",
                    metric.metric, printable(row.key), format_plural(known_before, "repetition"),
                    known_after),
        fmt::format("measure both sides with --repetitions={} or more", min_repetitions()));
  }
  return {};
}

}  // namespace

Expected<ComparedRow> compare_row(const std::string& key, const MeasurementPair& pair,
                                  const std::set<std::string>& known_before,
                                  const CompareOptions& options) {
  ComparedRow row;
  row.key = key;
  TRY_ASSIGN(auto limits, settle_limits(row, pair, options));
  const Counted* before = counted_of(pair.before);
  const Counted* after = counted_of(pair.after);
  row.metrics = metrics_of(before, after, limits);
  if (before != nullptr && after != nullptr) {
    TRY(check_repetitions(row, *before, *after));
    compare_counts(row, *before, *after, known_before, options);
    return row;
  }
  Side side_before = side_of(pair.before);
  row.state = state_of(side_before, side_of(pair.after));
  row.verdict = verdict_of(row.state, side_before, options);
  row.reason = reason_of(row.state, pair);
  return row;
}

}  // namespace instr
