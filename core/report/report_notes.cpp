// The notes below the tables of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/format.h"
#include "core/report/report_summary.h"
#include "core/report/report_tables.h"

namespace instr {

namespace {

constexpr std::size_t kMaxUnsteady = 20;

// The note about times that were measured with more threads than cores.
std::string cores_note(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  const std::string text = options.header ? options.header->fingerprint.get(kTimedCores) : "";
  const int cores = std::atoi(text.c_str());
  const auto crowded =
      std::count_if(measurements.begin(), measurements.end(), [cores](const Measurement& one) {
        const auto* timed = std::get_if<Counted>(&one.outcome);
        return timed != nullptr && timed->timing && one.variant.threads > cores;
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
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    is_unsteady = is_unsteady || !counted->steady;
    has_state = has_state || counted->changes_state;
    is_ungated = is_ungated || !counted->gated;
  }
  std::vector<std::string> notes;
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

}  // namespace

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
