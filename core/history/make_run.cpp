#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/content_hash.h"
#include "core/base/format.h"
#include "core/compare/judge.h"
#include "core/history/recording.h"
#include "core/results/definition_options.h"
#include "core/results/fingerprint_check.h"
#include "core/results/result_set.h"

namespace instr {

namespace {

// An error if the results are older than the commit. `results`: their name.
Expected<void> check_age(const std::string& results, const std::string& started,
                         const Commit& commit) {
  const auto seconds = parse_time(started);
  if (!seconds || *seconds >= commit.authored) return {};
  return fail_at(
      {results},
      fmt::format("measured at {}, before commit {} was written ({})", printable(started),
                  short_hash(commit.hash), format_date(commit.authored)),
      "name the commit that was measured with --commit or, if a clock was wrong, add "
      "--trust-commit");
}

// Finds the fingerprint classes of a run's values, and adds each class to the run once.
class ClassFinder {
 public:
  ClassFinder(const Fingerprint& fingerprint, const std::vector<std::string>& vary, HistoryRun& run)
      : fingerprint_(fingerprint), vary_(vary), run_(run) {}

  Expected<std::size_t> find_or_add(const MeasuredAs& as) {
    const auto known = known_.find({as.is_timed, as.language});
    if (known != known_.end()) return known->second;
    TRY_ASSIGN(auto fields, select_fields(fingerprint_, as, vary_));
    std::sort(fields.begin(), fields.end());  // equal fields, equal text
    const std::string text = to_line(nlohmann::ordered_json(fields));
    const auto place = std::find(run_.classes.begin(), run_.classes.end(), text);
    const auto index = static_cast<std::size_t>(place - run_.classes.begin());
    if (place == run_.classes.end()) run_.classes.push_back(text);
    return known_[{as.is_timed, as.language}] = index;
  }

 private:
  const Fingerprint& fingerprint_;
  const std::vector<std::string>& vary_;
  HistoryRun& run_;
  std::map<std::pair<bool, Language>, std::size_t> known_;
};

// Simulated caches depend on where code lies: equal code built again may differ.
bool is_exact(const std::string& metric, const Counted& counted) {
  return counted.gated && counted.steady && find_metric(metric, kUsualMetrics) != nullptr;
}

Expected<void> add_values(HistoryRun& run, const Measurement& measured, ClassFinder& classes) {
  const auto* counted = std::get_if<Counted>(&measured.outcome);
  if (counted == nullptr) return {};
  for (const auto& [metric, value] : counted->metrics) {
    if (!std::isfinite(value)) continue;
    const bool is_timed = find_metric(metric, kTimeMetrics) != nullptr;
    TRY_ASSIGN(const auto index, classes.find_or_add({is_timed, measured.variant.language}));
    run.values.push_back({measured.variant.key, metric, is_exact(metric, *counted), index, value});
    if (counted->timing) run.values.back().repetitions = counted->timing->of(metric);
  }
  return {};
}

void add_outcome(HistoryRun& run, const Measurement& measured) {
  const auto add = [&](const std::string& state, const std::string& reason) {
    run.outcomes.push_back({measured.variant.key, state, reason});
  };
  const auto& verification = measured.verification;
  if (const auto* failure = std::get_if<Failure>(&measured.outcome)) {
    add(kFailedState, to_string(failure->kind) + (": " + failure->message));
  } else if (const auto* skipped = std::get_if<Skipped>(&measured.outcome)) {
    add(kSkippedState, skipped->reason);
  } else if (verification && verification->code != VerificationCode::kVerifierSkipped) {
    add(to_string(verification->code), verification->reason);
  }
}

// Does not depend on the order of the results, nor on whether they were read from a file.
std::string make_digest(const Results& results) {
  std::vector<std::string> lines;
  for (const Measurement& measurement : results.measurements) {
    lines.push_back(to_line(to_json(measurement)));
  }
  std::sort(lines.begin(), lines.end());
  return content_hash(
      fmt::format("{}\n{}", to_line(to_json(results.header)), fmt::join(lines, "\n")));
}

}  // namespace

Expected<HistoryRun> make_run(const ResultSet& results, const Commit& commit,
                              const std::string& branch, const std::vector<std::string>& vary,
                              bool is_commit_trusted) {
  const ResultsHeader& header = results.results.header;
  if (header.fingerprint.entries.empty()) {
    return fail_at({results.name}, "these results do not say what they were measured with",
                   "measure again");
  }
  if (!is_commit_trusted) TRY(check_age(results.name, header.started, commit));
  HistoryRun run{.commit = commit,
                 .branch = branch,
                 .started = header.started,
                 .version = header.version,
                 .digest = make_digest(results.results),
                 .functions = results.functions,
                 .call_trees = results.call_trees,
                 .definitions = select_definition_options(
                     header.command, Repository().top().value_or(std::filesystem::path()))};
  ClassFinder classes(header.fingerprint, vary, run);
  for (const Measurement& measurement : results.results.measurements) {
    TRY(add_values(run, measurement, classes));
    add_outcome(run, measurement);
    const Variant& variant = measurement.variant;
    if (variant.limits.empty()) continue;
    TRY(find_limits({variant.key, variant.limits, {}}));
    run.limits[variant.key] = variant.limits;
  }
  return run;
}

}  // namespace instr
