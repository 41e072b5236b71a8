#include "core/report/report_summary.h"

#include <map>

#include "core/base/format.h"

namespace instr {

namespace {

// The element of that name; a new one at the end if there is none.
template <class T>
T& find_or_add(std::vector<T>& all, std::map<std::string, std::size_t>& known,
               const std::string& name) {
  auto [found, is_new] = known.emplace(name, all.size());
  if (is_new) all.emplace_back();
  return all[found->second];
}

void add_to_group(std::vector<FailureGroup>& groups, std::map<std::string, std::size_t>& known,
                  const std::string& kind, const std::string& words, const std::string& key) {
  std::string message = printable(words, true);
  FailureGroup& group = find_or_add(groups, known, kind + "\n" + message);
  group.kind = kind;
  group.message = message;
  group.keys.push_back(printable(key));
}

}  // namespace

bool is_failure(const Measurement& measurement) {
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  return failure != nullptr && failure->kind != FailureKind::kUnsupported;
}

Summary summarize(const std::vector<Measurement>& measurements) {
  Summary summary;
  std::map<std::string, std::size_t> failures;
  std::map<std::string, std::size_t> unverified;
  std::map<std::string, std::size_t> skips;
  for (const Measurement& measurement : measurements) {
    summary.seconds += measurement.seconds;
    if (const auto& verification = measurement.verification) {
      ++summary.verified;
      if (verification->code != VerificationCode::kPass) {
        add_to_group(summary.unverified, unverified, to_string(verification->code),
                     verification->reason, measurement.variant.key);
      }
    }
    if (const auto* counted = std::get_if<Counted>(&measurement.outcome)) {
      if (counted->metrics.contains(kInstructions)) ++summary.counted;
      if (counted->timing) ++summary.timed;
      if (!counted->steady && counted->gated) {
        summary.unsteady.push_back(printable(measurement.variant.key) + ": " +
                                   unsteady_counts(*counted));
      }
    } else if (is_failure(measurement)) {
      ++summary.failed;
      const auto& failure = std::get<Failure>(measurement.outcome);
      add_to_group(summary.failures, failures, to_string(failure.kind), failure.message,
                   measurement.variant.key);
    } else {
      ++summary.skipped;
      const auto* skipped = std::get_if<Skipped>(&measurement.outcome);
      std::string reason = printable(
          skipped != nullptr ? skipped->reason : std::get<Failure>(measurement.outcome).message);
      SkipGroup& group = find_or_add(summary.skips, skips, reason);
      group.reason = reason;
      ++group.count;
    }
  }
  return summary;
}

std::string summary_line(const Summary& summary, const ReportOptions& options) {
  auto number = [](std::size_t count) { return format_count(static_cast<double>(count)); };
  std::string line =
      summary.counted == 0 && summary.timed > 0 ? "" : number(summary.counted) + " counted";
  if (!summary.unsteady.empty()) {
    line += ", " + number(summary.unsteady.size()) + " of them not steady";
  }
  if (summary.timed > 0) line += (line.empty() ? "" : "; ") + number(summary.timed) + " timed";
  if (summary.skipped > 0) line += "; " + number(summary.skipped) + " skipped";
  if (summary.failed > 0) line += "; " + number(summary.failed) + " failed";
  if (summary.verified > 0) {
    std::size_t others = 0;
    for (const FailureGroup& group : summary.unverified) others += group.keys.size();
    line += "; " + number(summary.verified) + " verified";
    if (others > 0) line += ", " + number(others) + " of them not PASS";
  }
  if (options.seconds) return line + "; " + format_duration(*options.seconds);
  return line + "; " + format_duration(summary.seconds) + " of measuring";
}

}  // namespace instr
