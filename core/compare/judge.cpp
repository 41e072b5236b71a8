#include "core/compare/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/format.h"
#include "core/definitions/metrics.h"
#include "core/definitions/variant.h"

namespace instr {

namespace {

void add_limits(Limits& limits, const Limits& others) {
  limits.hard.insert(others.hard.begin(), others.hard.end());
  limits.soft.insert(others.soft.begin(), others.soft.end());
}

Expected<void> add_by_key(Limits& limits, const std::map<std::string, Limits>& by_key,
                          const std::string& key) {
  const auto others = by_key.find(key);
  if (others != by_key.end()) add_limits(limits, others->second);
  return {};
}

Expected<void> add_margins(Limits& limits, const LimitQuery& query) {
  return add_by_key(limits, query.options.margins, query.key);
}

Expected<void> add_patterns(Limits& limits, const LimitQuery& query) {
  const auto& before = query.options.by_key_before;
  return add_by_key(limits, query.is_base && before ? *before : query.options.by_key, query.key);
}

Expected<void> add_carried(Limits& limits, const LimitQuery& query) {
  for (const auto& [metric, text] : query.carried) {
    const auto limit = parse_limit(text);
    if (!limit) {
      return fail(
          fmt::format("the limit of {} that the results carry for `{}`: {}", printable(metric),
                      printable(query.key), printable(limit.error().what)),
          limit.error().advice);
    }
    limits.hard.emplace(metric, *limit);
  }
  return {};
}

Expected<void> add_given(Limits& limits, const LimitQuery& query) {
  add_limits(limits, query.options.limits);
  return {};
}

Verdict find_verdict(const MetricChange& metric, bool has_ratchet) {
  const auto change = metric.change();
  if (!change) return Verdict::kPasses;
  if (is_beyond(*change, metric.hard, *metric.before)) return Verdict::kFails;
  if (is_beyond(*change, metric.soft, *metric.before)) return Verdict::kWarns;
  if (!is_beyond(-*change, metric.hard, *metric.before)) return Verdict::kPasses;
  return has_ratchet ? Verdict::kFails : Verdict::kGain;
}

// True if compare() judges the values: not those that depend on scheduling or are not steady.
bool is_judged(const Sequence& sequence) {
  if (sequence.is_exact) return true;
  return is_gated(parse_key(sequence.key)) &&
         find_metric(sequence.metric, kUsualMetrics) == nullptr;
}

bool is_change(const Sequence& sequence, const MetricChange& change) {
  if (sequence.is_exact || change.speedup) return change.change().value_or(0) != 0;
  return change.verdict != Verdict::kPasses || change.accepted;
}

const Counted* get_counted(const Measurement* measurement) {
  return measurement == nullptr ? nullptr : std::get_if<Counted>(&measurement->outcome);
}

// Returns the metrics of both, in the order of limit_metrics(), then of their names.
std::vector<std::string> list_metrics(const Counted* before, const Counted* after) {
  std::set<std::string> rest;
  for (const Counted* counted : {before, after}) {
    if (counted != nullptr) add_metrics(rest, *counted);
  }
  std::vector<std::string> names;
  for (const std::string& name : limit_metrics()) {
    if (rest.erase(name) > 0) names.push_back(name);
  }
  names.insert(names.end(), rest.begin(), rest.end());
  return names;
}

// Returns nothing for a value that is not finite, which a file edited by hand may contain.
std::optional<double> find_value(const Counted* counted, const std::string& metric) {
  if (counted == nullptr) return std::nullopt;
  const auto value = counted->metrics.find(metric);
  if (value == counted->metrics.end() || !std::isfinite(value->second)) return std::nullopt;
  return value->second;
}

// Returns the limit of the metric; nothing for "none".
std::optional<Limit> find_limit(const std::map<std::string, Limit>& limits,
                                const std::string& metric) {
  const auto limit = limits.find(metric);
  if (limit == limits.end() || limit->second.is_none()) return std::nullopt;
  return limit->second;
}

void add_limit_changes(std::vector<LimitChange>& changes, bool is_soft,
                       const std::map<std::string, Limit>& before,
                       const std::map<std::string, Limit>& after) {
  std::map<std::string, Limit> either = before;
  either.insert(after.begin(), after.end());
  for (const auto& [metric, limit] : either) {
    LimitChange change{metric, is_soft, find_limit(before, metric), find_limit(after, metric)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
}

// Returns the limits that hold for the row, and records how the later side differs.
Expected<Limits> settle_limits(ComparedRow& row, const MeasurementPair& pair,
                               const CompareOptions& options) {
  const auto find = [&](const Measurement& side, bool is_base) {
    return find_limits({row.key, side.variant.limits, options, is_base});
  };
  if (pair.before == nullptr || (!options.base_has_limits && pair.after != nullptr)) {
    return find(*pair.after, /*is_base=*/false);
  }
  auto before = find(*pair.before, /*is_base=*/true);
  if (!before || pair.after == nullptr) return before;
  TRY_ASSIGN(const auto after, find(*pair.after, /*is_base=*/false));
  add_limit_changes(row.limit_changes, false, before->hard, after.hard);
  add_limit_changes(row.limit_changes, true, before->soft, after.soft);
  return before;
}

// Returns nothing unless the repetitions of the metric are known on both sides.
std::optional<Speedup> find_speedup(const std::string& metric, const Counted* before,
                                    const Counted* after) {
  if (!before || !after || !before->timing || !after->timing) return std::nullopt;
  return speedup(before->timing->of(metric), after->timing->of(metric));
}

// Makes the change of a metric, with its limits and not judged yet.
MetricChange make_change(const std::string& metric, const std::optional<double>& before,
                         const std::optional<double>& after, const Limits& limits) {
  MetricChange change{metric, before, after, find_limit(limits.hard, metric),
                      find_limit(limits.soft, metric)};
  // A metric that is measured on request has its default limit only if both sides have it.
  const Metric* known = find_metric(metric, kTimeMetrics);
  const bool has_default = known != nullptr && !known->hard_limit.is_none();
  if (has_default && before && after && !limits.hard.contains(metric)) {
    change.hard = known->hard_limit;
  }
  return change;
}

std::vector<MetricChange> compare_metrics(const Counted* before, const Counted* after,
                                          const Limits& limits) {
  std::vector<MetricChange> metrics;
  for (const std::string& name : list_metrics(before, after)) {
    MetricChange metric =
        make_change(name, find_value(before, name), find_value(after, name), limits);
    metric.speedup = find_speedup(name, before, after);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

void raise(ComparedRow& row, Verdict verdict) { row.verdict = std::max(row.verdict, verdict); }

void add_reason(ComparedRow& row, const std::string& reason) {
  row.reason += (row.reason.empty() ? "" : "; ") + reason;
}

void explain_ratchet(const MetricChange& metric, ComparedRow& row) {
  if (metric.verdict != Verdict::kFails || metric.change().value_or(0) >= 0) return;
  add_reason(row, fmt::format("{} fell by more than the limit (--ratchet): save the new count, or "
                              "accept it",
                              metric.metric));
}

// A single time differs from any other.
bool is_single_time(const MetricChange& metric) {
  return is_duration(metric.metric) && !metric.speedup;
}

RowState judge_direction(const std::vector<MetricChange>& metrics) {
  for (const MetricChange& metric : metrics) {
    if (is_single_time(metric) && metric.verdict == Verdict::kPasses) continue;
    double change = metric.change().value_or(0);
    if (change != 0) return change > 0 ? RowState::kSlower : RowState::kFaster;
  }
  return RowState::kSame;
}

std::string explain_unsteady(const Counted& counted, const char* side) {
  return fmt::format("not steady {} ({})", side, unsteady_counts(counted));
}

// Marks a row that cannot be compared, which fails unless that is allowed.
void give_up(ComparedRow& row, const std::string& reason, const CompareOptions& options) {
  row.state = RowState::kNotComparable;
  add_reason(row, reason);
  raise(row, options.allow_not_comparable ? Verdict::kWarns : Verdict::kFails);
}

// "no instructions before (base.jsonl:4: it is null)"
std::string explain_lost(const std::string& metric, const Counted& counted, const char* side) {
  std::string reason = fmt::format("no {} {}", printable(metric), side);
  auto why = counted.lost.find(metric);
  return why == counted.lost.end() ? reason : fmt::format("{} ({})", reason, why->second);
}

// Reports metrics that a side should have and lacks: metrics with an invalid value, and metrics
// with a limit that only the other side has. A metric that no earlier result has was newly
// requested, and has no baseline yet.
void report_lost_metrics(ComparedRow& row, const Counted& before, const Counted& after,
                         const std::set<std::string>& known_before, const CompareOptions& options) {
  for (const MetricChange& metric : row.metrics) {
    const std::string& name = metric.metric;
    bool is_limited =
        (metric.hard || metric.soft) && metric.before.has_value() != metric.after.has_value();
    bool is_new = !metric.before && !known_before.contains(name);
    if (before.lost.contains(name) || (is_limited && !metric.before && !is_new)) {
      give_up(row, explain_lost(name, before, "before"), options);
    } else if (is_limited && is_new) {
      add_reason(row, fmt::format("no {} before, in any row", printable(name)));
      raise(row, Verdict::kWarns);
      if (name == kInstructions) row.state = RowState::kNotComparable;
    }
    if (after.lost.contains(name) || (is_limited && !metric.after)) {
      give_up(row, explain_lost(name, after, "after"), options);
    }
  }
}

// Judges the verification codes of two measurements: a result that was right and no longer is has
// failed.
void compare_codes(ComparedRow& row, const MeasurementPair& pair, const CompareOptions& options) {
  const auto& before = pair.before->verification;
  const auto& after = pair.after->verification;
  if (!before || !after || before->code == after->code) return;
  add_reason(
      row, fmt::format("verification {}, then {}{}", to_string(before->code),
                       to_string(after->code), after->reason.empty() ? "" : ": " + after->reason));
  if (before->code != VerificationCode::kPass) return;
  row.state = RowState::kFailedAfter;
  raise(row, options.allow_failed ? Verdict::kWarns : Verdict::kFails);
}

// Gives the change its verdict.
void judge_change(MetricChange& change, const std::string& key, const Acceptances& accepted,
                  bool has_ratchet = false) {
  change.verdict = find_verdict(change, has_ratchet);
  if (change.verdict < Verdict::kWarns) return;
  const Acceptance* acceptance =
      find_accepted(accepted, key, change.metric, *change.before, *change.after);
  if (acceptance == nullptr) return;
  change.accepted = *acceptance;
  change.verdict = Verdict::kPasses;
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
  if (!before.steady) {  // due to an earlier commit, so that this one cannot be judged
    row.state = RowState::kNotComparable;
    row.reason = explain_unsteady(before, "before");
    return;
  }
  if (!after.steady) return give_up(row, explain_unsteady(after, "after"), options);
  for (MetricChange& metric : row.metrics) {
    judge_change(metric, row.key, options.accepted, options.has_ratchet);
    if (metric.accepted) add_reason(row, metric.metric + " " + to_string(*metric.accepted));
    explain_ratchet(metric, row);
    raise(row, metric.verdict);
  }
  row.state = judge_direction(row.metrics);
  report_lost_metrics(row, before, after, known_before, options);
  const bool has_change = std::ranges::any_of(
      row.metrics, [](const MetricChange& metric) { return metric.change().has_value(); });
  if (!has_change) give_up(row, "no metric has a value on both sides", options);
}

// Judges a row that is not counted on both sides.
void compare_outcomes(ComparedRow& row, const MeasurementPair& pair,
                      const CompareOptions& options) {
  const auto was = [&pair](MeasuredState state) {
    return pair.before != nullptr && state_of(*pair.before) == state;
  };
  const auto set = [&row](RowState state, bool is_allowed, Verdict verdict, std::string reason) {
    row.state = state;
    row.verdict = is_allowed ? verdict : Verdict::kFails;
    row.reason = std::move(reason);
  };
  const auto explain_before = [&]() -> std::string {
    if (was(MeasuredState::kSkipped)) return "skipped before: " + reason_of(*pair.before);
    if (was(MeasuredState::kFailed)) return "failed before: " + reason_of(*pair.before);
    return "";
  };
  if (pair.after == nullptr) {
    if (was(MeasuredState::kSkipped)) {  // there is no count that is missing
      return set(RowState::kSkipped, true, Verdict::kPasses, explain_before());
    }
    return set(RowState::kMissing, options.allow_missing, Verdict::kWarns, explain_before());
  }
  switch (state_of(*pair.after)) {
    case MeasuredState::kMeasured:
      if (was(MeasuredState::kFailed)) {
        return set(RowState::kFailedBefore, options.allow_new, Verdict::kPasses,
                   reason_of(*pair.before));
      }
      return set(RowState::kNew, options.allow_new, Verdict::kPasses, explain_before());
    case MeasuredState::kSkipped:
      // Counted before and skipped now: treated as missing.
      if (was(MeasuredState::kMeasured)) {
        return set(RowState::kSkipped, options.allow_missing, Verdict::kWarns,
                   reason_of(*pair.after));
      }
      return set(RowState::kSkipped, true, Verdict::kPasses, reason_of(*pair.after));
    case MeasuredState::kFailed:
      return set(was(MeasuredState::kFailed) ? RowState::kFailedBoth : RowState::kFailedAfter,
                 options.allow_failed, Verdict::kWarns, reason_of(*pair.after));
  }
}

// An error if there are too few repetitions for any limit on times to fail.
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

const std::vector<LimitSource> kLimitSources{
    {"the margin in the file of `--expect`", false, add_margins},
    {"a pattern in the file of `--limits`", true, add_patterns},
    {"the definition's own `limit = { instructions = \"1%\" }`", true, add_carried},
    {"`--limit` and `--soft-limit`", false, add_given}};

Expected<Limits> find_limits(const LimitQuery& query) {
  Limits limits;
  for (const LimitSource& source : kLimitSources) TRY(source.add(limits, query));
  return limits;
}

std::vector<SequenceChange> compare_sequence(const Sequence& sequence,
                                             const std::vector<SequenceValue>& values,
                                             const Acceptances& accepted) {
  const bool is_any_judged = is_judged(sequence);
  // Judges the change from a value to a later one.
  const auto compare_values = [&](const SequenceValue& before, const SequenceValue& after,
                                  const Limits& limits) {
    MetricChange change = make_change(sequence.metric, before.value, after.value, limits);
    if (!sequence.is_exact) change.speedup = speedup(before.repetitions, after.repetitions);
    if (is_any_judged) judge_change(change, sequence.key, accepted);
    return change;
  };
  std::vector<SequenceChange> changes;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const Limits& limits = *values[i].limits;
    MetricChange change = compare_values(values[i - 1], values[i], limits);
    if (!is_change(sequence, change)) continue;
    // A change that was undone later costs nothing.
    const bool is_regression =
        change.verdict == Verdict::kFails &&
        compare_values(values[i - 1], values.back(), limits).verdict == Verdict::kFails;
    changes.push_back({i, std::move(change), is_regression});
  }
  return changes;
}

void add_metrics(std::set<std::string>& names, const Counted& counted) {
  for (const auto& [name, value] : counted.metrics) names.insert(name);
  for (const auto& [name, why] : counted.lost) names.insert(name);
}

Expected<ComparedRow> compare_row(const std::string& key, const MeasurementPair& pair,
                                  const std::set<std::string>& known_before,
                                  const CompareOptions& options) {
  ComparedRow row;
  row.key = key;
  TRY_ASSIGN(auto limits, settle_limits(row, pair, options));
  const Counted* before = get_counted(pair.before);
  const Counted* after = get_counted(pair.after);
  row.metrics = compare_metrics(before, after, limits);
  if (before != nullptr && after != nullptr) {
    TRY(check_repetitions(row, *before, *after));
    compare_counts(row, *before, *after, known_before, options);
    compare_codes(row, pair, options);
  } else {
    compare_outcomes(row, pair, options);
  }
  return row;
}

}  // namespace instr
