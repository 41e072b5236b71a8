#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/content_hash.h"
#include "core/base/format.h"
#include "core/history/recording.h"
#include "core/results/fingerprint_check.h"
#include "core/results/result_set.h"

namespace instr {

namespace {

// An error if what was measured then is older than the commit. `results` is for messages.
Expected<void> check_age(const std::string& results, const std::string& started,
                         const Commit& commit) {
  const auto seconds = parse_time(started);
  if (!seconds || *seconds >= commit.authored) return {};
  return tl::unexpected(
      Error{{results},
            fmt::format("measured at {}, before commit {} was written ({})", printable(started),
                        short_hash(commit.hash), format_date(commit.authored)),
            "name the commit that was measured with --commit or, if a clock was wrong, add "
            "--trust-commit"});
}

// The same text for the same fields, whatever their order.
std::string class_text(Fingerprint::Entries entries) {
  std::sort(entries.begin(), entries.end());
  return to_line(nlohmann::ordered_json(entries));
}

// The classes of a run's values, each once.
class Classes {
 public:
  Classes(const Fingerprint& fingerprint, const std::vector<std::string>& vary, HistoryRun& run)
      : fingerprint_(fingerprint), vary_(vary), run_(run) {}

  Expected<std::size_t> index_of(const MeasuredAs& as) {
    auto known = known_.find({as.is_timed, as.language});
    if (known != known_.end()) return known->second;
    TRY_ASSIGN(auto fields, class_of(fingerprint_, as, vary_));
    const std::string text = class_text(std::move(fields));
    auto found = std::find(run_.classes.begin(), run_.classes.end(), text);
    const auto index = static_cast<std::size_t>(found - run_.classes.begin());
    if (found == run_.classes.end()) run_.classes.push_back(text);
    return known_[{as.is_timed, as.language}] = index;
  }

 private:
  const Fingerprint& fingerprint_;
  const std::vector<std::string>& vary_;
  HistoryRun& run_;
  std::map<std::pair<bool, Language>, std::size_t> known_;
};

bool is_timed(const std::string& metric) { return find_metric(metric, kTimeMetrics) != nullptr; }

// Simulated caches depend on where code lies: equal code built again may differ.
bool is_exact(const std::string& metric, const Counted& counted) {
  return counted.gated && counted.steady && find_metric(metric, kUsualMetrics) != nullptr;
}

Expected<void> add_values(HistoryRun& run, const Measurement& measured, Classes& classes) {
  const auto* counted = std::get_if<Counted>(&measured.outcome);
  if (counted == nullptr) return {};
  for (const auto& [metric, value] : counted->metrics) {
    if (!std::isfinite(value)) continue;
    TRY_ASSIGN(auto index, classes.index_of({is_timed(metric), measured.variant.language}));
    run.values.push_back({measured.variant.key, metric, is_exact(metric, *counted), index, value});
    if (counted->timing) run.values.back().repetitions = counted->timing->of(metric);
  }
  return {};
}

void add_outcome(HistoryRun& run, const Measurement& one) {
  const auto add = [&](const std::string& state, const std::string& reason) {
    run.outcomes.push_back({one.variant.key, state, reason});
  };
  if (const auto* failure = std::get_if<Failure>(&one.outcome)) {
    add(kFailedState, to_string(failure->kind) + (": " + failure->message));
  } else if (const auto* skipped = std::get_if<Skipped>(&one.outcome)) {
    add(kSkippedState, skipped->reason);
  } else if (one.verification && one.verification->code != VerificationCode::kVerifierSkipped) {
    add(to_string(one.verification->code), one.verification->reason);
  }
}

// The same of a run's results in memory and in a file, whatever their order.
std::string digest_of(const Results& results) {
  std::vector<std::string> lines;
  for (const Measurement& one : results.measurements) lines.push_back(to_line(to_json(one)));
  std::sort(lines.begin(), lines.end());
  return content_hash(
      fmt::format("{}\n{}", to_line(to_json(results.header)), fmt::join(lines, "\n")));
}

}  // namespace

Expected<HistoryRun> run_of(const ResultSet& results, const Commit& commit,
                            const std::string& branch, const std::vector<std::string>& vary,
                            bool is_commit_trusted) {
  const ResultsHeader& header = results.results.header;
  if (header.fingerprint.entries.empty()) {
    return tl::unexpected(Error{
        {results.name}, "these results do not say what they were measured with", "measure again"});
  }
  if (!is_commit_trusted) {
    TRY(check_age(results.name, header.started, commit));
  }
  HistoryRun run{commit, branch, header.started,    header.version,    digest_of(results.results),
                 {},     {},     results.functions, results.call_trees};
  Classes classes(header.fingerprint, vary, run);
  for (const Measurement& one : results.results.measurements) {
    TRY(add_values(run, one, classes));
    add_outcome(run, one);
  }
  return run;
}

}  // namespace instr
