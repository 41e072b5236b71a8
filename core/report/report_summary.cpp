#include "core/report/report_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/format.h"

namespace instr {

namespace {

constexpr std::size_t kMaxUnsteady = 20;

// The note about times that were measured with more threads than cores.
std::string cores_note(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  const std::string text = options.header ? options.header->fingerprint.get(kTimedCores) : "";
  const int cores = std::atoi(text.c_str());
  const auto crowded = std::count_if(
      measurements.begin(), measurements.end(), [cores](const Measurement& measurement) {
        const auto* timed = std::get_if<Counted>(&measurement.outcome);
        return timed != nullptr && timed->timing && measurement.variant.threads > cores;
      });
  if (cores == 0 || crowded == 0) return "";
  return fmt::format("{} had more threads than the {} that it could use",
                     format_plural(static_cast<std::size_t>(crowded), "timing"),
                     format_plural(static_cast<std::size_t>(cores), "core"));
}

// The notes that explain the marks at the values.
std::vector<std::string> mark_notes(const std::vector<Measurement>& measurements) {
  bool is_unsteady = false;
  bool has_state = false;
  bool is_ungated = false;
  bool is_first_call = false;
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    is_unsteady = is_unsteady || !counted->steady;
    has_state = has_state || counted->changes_state;
    is_ungated = is_ungated || !counted->gated;
    is_first_call = is_first_call || counted->is_first_call();
  }
  std::vector<std::string> notes;
  if (is_first_call) notes.emplace_back("1st: the first call in a process, counted once");
  if (is_unsteady) {
    notes.emplace_back(
        "~ not steady: blocks of iterations differed, or the count did not come out again");
  }
  if (has_state) {
    notes.emplace_back(
        "^ changes its own state: memory grows, or some iterations allocate more than others");
  }
  if (is_ungated) notes.emplace_back(fmt::format("* not gated: {}", kWhyNotGated));
  return notes;
}

DocumentNote skips_note(const Summary& summary) {
  DocumentNote note{.kind = DocumentNote::Kind::kList};
  for (const auto& [reason, count] : summary.skips) {
    note.items.push_back(fmt::format("{} skipped: {}", format_count(static_cast<double>(count)),
                                     reason.empty() ? "no reason was given" : reason));
  }
  return note;
}

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

std::vector<DocumentNote> report_notes(const std::vector<Measurement>& measurements,
                                       const ReportOptions& options) {
  std::vector<std::string> footnotes{busy_note(measurements), cores_note(measurements, options)};
  const auto& metrics = options.metrics;
  if (std::find(metrics.begin(), metrics.end(), kInstructions) != metrics.end()) {
    for (std::string& note : mark_notes(measurements)) footnotes.push_back(std::move(note));
  }
  std::vector<DocumentNote> notes;
  for (const std::string& text : footnotes) {
    if (!text.empty()) notes.push_back({.text = text});
  }
  const Summary summary = summarize(measurements);
  if (!summary.unsteady.empty()) {
    notes.push_back({.kind = DocumentNote::Kind::kList,
                     .title = "not steady",
                     .items = summary.unsteady,
                     .max_items = kMaxUnsteady});
  }
  for (const auto* failures : {&summary.failures, &summary.unverified}) {
    notes.insert(notes.end(), failures->begin(), failures->end());
  }
  if (!summary.skips.empty()) notes.push_back(skips_note(summary));
  notes.push_back({.kind = DocumentNote::Kind::kConclusion,
                   .text = summary_line(summary, options),
                   .style = summary.failed > 0 ? Style::kBad : Style::kHeading});
  return notes;
}

}  // namespace instr
