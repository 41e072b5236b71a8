#include "core/report/report_summary.h"

#include <algorithm>

#include "core/base/format.h"

namespace instr {

namespace {

// Adds a key to the failures of that kind and message.
void add_failure(std::vector<DocumentNote>& failures, const std::string& kind,
                 const std::string& words, const std::string& key) {
  const std::string message = printable(words, true);
  auto it = std::find_if(failures.begin(), failures.end(), [&](const DocumentNote& failure) {
    return failure.title == kind && failure.text == message;
  });
  if (it == failures.end()) {
    it =
        failures.insert(it, {.kind = DocumentNote::Kind::kFailure, .text = message, .title = kind});
  }
  it->items.push_back(printable(key));
}

void add_skip(Summary& summary, const Measurement& measurement) {
  ++summary.skipped;
  const auto* skipped = std::get_if<Skipped>(&measurement.outcome);
  const std::string reason = printable(
      skipped != nullptr ? skipped->reason : std::get<Failure>(measurement.outcome).message);
  auto it = std::find_if(summary.skips.begin(), summary.skips.end(),
                         [&reason](const auto& skip) { return skip.first == reason; });
  if (it == summary.skips.end()) it = summary.skips.insert(it, {reason, 0});
  ++it->second;
}

}  // namespace

bool is_failure(const Measurement& measurement) {
  const auto* failure = std::get_if<Failure>(&measurement.outcome);
  return failure != nullptr && failure->kind != FailureKind::kUnsupported;
}

Summary summarize(const std::vector<Measurement>& measurements) {
  Summary summary;
  for (const Measurement& measurement : measurements) {
    summary.seconds += measurement.seconds;
    if (const auto& verification = measurement.verification) {
      ++summary.verified;
      if (verification->code != VerificationCode::kPass) {
        add_failure(summary.unverified, to_string(verification->code), verification->reason,
                    measurement.variant.key);
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
      add_failure(summary.failures, to_string(failure.kind), failure.message,
                  measurement.variant.key);
    } else {
      add_skip(summary, measurement);
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
    for (const DocumentNote& failure : summary.unverified) others += failure.items.size();
    line += "; " + number(summary.verified) + " verified";
    if (others > 0) line += ", " + number(others) + " of them not PASS";
  }
  if (options.seconds) return line + "; " + format_duration(*options.seconds);
  return line + "; " + format_duration(summary.seconds) + " of measuring";
}

}  // namespace instr
