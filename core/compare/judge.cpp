#include "core/compare/judge.h"

#include <fmt/format.h>

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

std::optional<Limit> find_limit(const std::map<std::string, Limit>& limits,
                                const std::string& metric) {
  const auto limit = limits.find(metric);
  if (limit == limits.end() || limit->second.is_none()) return std::nullopt;
  return limit->second;
}

MetricChange make_change(const std::string& metric, const std::optional<double>& before,
                         const std::optional<double>& after, const Limits& limits) {
  MetricChange change{metric, before, after, find_limit(limits.hard, metric),
                      find_limit(limits.soft, metric)};
  // A metric that is measured on request has its default limit only if both sides have it.
  const Metric* known = find_metric(metric, kEventMetrics);
  const bool has_default = known != nullptr && !known->hard_limit.is_none();
  if (has_default && before && after && !limits.hard.contains(metric)) {
    change.hard = known->hard_limit;
  }
  return change;
}

void judge_change(MetricChange& change, const std::string& key, const Acceptances& accepted,
                  bool has_ratchet) {
  change.verdict = find_verdict(change, has_ratchet);
  if (change.verdict < Verdict::kWarns) return;
  const Acceptance* acceptance =
      find_accepted(accepted, key, change.metric, *change.before, *change.after);
  if (acceptance == nullptr) return;
  change.accepted = *acceptance;
  change.verdict = Verdict::kPasses;
}

std::vector<SequenceChange> compare_sequence(const Sequence& sequence,
                                             const std::vector<SequenceValue>& values,
                                             const Acceptances& accepted) {
  const bool is_any_judged = is_judged(sequence);
  // Judges the change from a value to a later one by the limits of `after`.
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

}  // namespace instr
