#include "core/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/report/backend_summary.h"
#include "core/report/list.h"
#include "core/report/run_table.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxUnsteady = 20;

// The note about times that were measured with more threads than cores.
std::string cores_note(const std::vector<Measurement>& measurements, const ReportOptions& options) {
  const std::string text = options.header ? options.header->fingerprint.get(kTimedCores) : "";
  const int cores = std::atoi(text.c_str());
  const auto crowded = std::count_if(
      measurements.begin(), measurements.end(), [cores](const Measurement& measurement) {
        return find_timing(measurement) != nullptr && measurement.variant.threads > cores;
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
  bool reads_back = false;
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    is_unsteady = is_unsteady || !counted->steady;
    has_state = has_state || counted->changes_state;
    is_ungated = is_ungated || !counted->gated;
    is_first_call = is_first_call || counted->is_first_call();
    reads_back = reads_back || counted->reads_device;
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
  if (reads_back) notes.emplace_back(std::string("? ") + kWhyMadeUp);
  if (is_ungated) notes.emplace_back(fmt::format("* not gated: {}", kWhyNotGated));
  return notes;
}

struct Summary {
  std::size_t counted = 0;
  std::size_t timed = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
  std::vector<std::string> unsteady;  // gated variants: "key: 1,200, then 1,204"
  double seconds = 0;                 // the sum of all measurements
  std::vector<DocumentNote> failures;
  std::size_t verified = 0;
  std::vector<DocumentNote> unverified;  // codes other than PASS; the reason is the message
  std::vector<std::pair<std::string, std::size_t>> skips;  // variants by printable reason
};

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
  const std::string reason = printable(reason_of(measurement));
  auto it = std::find_if(summary.skips.begin(), summary.skips.end(),
                         [&reason](const auto& skip) { return skip.first == reason; });
  if (it == summary.skips.end()) it = summary.skips.insert(it, {reason, 0});
  ++it->second;
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
    } else if (state_of(measurement) == MeasuredState::kFailed) {
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

// "83 counted, 1 of them not steady; 12 skipped; 2 failed; 14.8 s"
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

// The usual metrics first, then any others.
std::vector<std::string> metric_names(const std::vector<Measurement>& measurements) {
  std::vector<std::string> names =
      names_of(metrics_of(MetricGroup::kCounted, MetricGroup::kCompile));
  std::set<std::string> others;
  for (const Measurement& measurement : measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr) continue;
    for (const auto& [name, value] : counted->metrics) others.insert(name);
  }
  for (const std::string& name : names) others.erase(name);
  for (const Metric& metric : kMetrics) {
    if (others.erase(metric.name) != 0) names.emplace_back(metric.name);
  }
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

std::vector<std::string> csv_fields(const Json& json, const Variant& variant,
                                    const std::vector<std::string>& metrics) {
  std::vector<std::string> fields{csv_field(json, "key"), csv_field(json, "label"),
                                  params_text(variant)};
  for (const char* name : {"language", "backend", "autograd", "threads", "device", "outcome"}) {
    fields.push_back(csv_field(json, name));
  }
  Json values = json.value("metrics", Json::object());
  for (const std::string& name : metrics) fields.push_back(csv_field(values, name));
  for (const char* name : {"iterations", "steady"}) fields.push_back(csv_field(json, name));
  Json blocks = json.value("blocks", Json::array());
  for (std::size_t i = 0; i < 2; ++i) {
    fields.push_back(i < blocks.size() && blocks[i].is_number() ? to_line(blocks[i]) : "");
  }
  for (const char* name : {"gated", "seconds"}) fields.push_back(csv_field(json, name));
  Json failure = json.value("failure", Json::object());
  fields.push_back(csv_field(failure, "kind"));
  fields.push_back(failure.empty() ? csv_field(json, "reason") : csv_field(failure, "message"));
  Json verification = json.value("verification", Json::object());
  for (const char* name : {"code", "reason"}) fields.push_back(csv_field(verification, name));
  return fields;
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

void add_tables(Document& document, const std::vector<Measurement>& measurements,
                const ReportOptions& options) {
  std::vector<Measurement> rest;
  for (const Measurement& measurement : measurements) {
    if (!options.shown.contains(measurement.variant.key)) rest.push_back(measurement);
  }
  if (!rest.empty()) document.tables.push_back(fitting_table(rest, options).whole());
  if (auto backends = backend_table(measurements)) document.tables.push_back(std::move(*backends));
  document.notes = report_notes(measurements, options);
}

void add_records(Document& document, const std::vector<Measurement>& measurements) {
  const std::vector<std::string> metrics = metric_names(measurements);
  document.fields = {"key",      "label",   "params", "language", "backend",
                     "autograd", "threads", "device", "outcome"};
  document.fields.insert(document.fields.end(), metrics.begin(), metrics.end());
  for (const char* name :
       {"iterations", "steady", "first_block_instructions", "second_block_instructions", "gated",
        "seconds", "failure_kind", "message", "verification", "verification_reason"}) {
    document.fields.emplace_back(name);
  }
  for (const Measurement& measurement : measurements) {
    const Json json = to_json(measurement);
    document.records.push_back({to_line(json), {csv_fields(json, measurement.variant, metrics)}});
  }
}

// Rows come in the order of the measurements, each group at its first row. JSON has the fields of
// the header, then "complete", "summary" and "measurements"; JSON Lines are those of a results
// file; CSV has a line for each measurement, parameters as "n=4 m=8".
Document report_document(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  Document document;
  if (measurements.empty()) {
    document.title = "nothing was measured";
  } else {
    add_tables(document, measurements, options);
  }
  if (options.header) document.head = to_line(to_json(*options.header));
  const Summary summary = summarize(measurements);
  document.summary = to_line({{"complete", options.is_complete},
                              {"summary",
                               {{"counted", summary.counted},
                                {"skipped", summary.skipped},
                                {"failed", summary.failed},
                                {"unsteady", summary.unsteady.size()},
                                {"seconds", options.seconds.value_or(summary.seconds)}}}});
  if (options.header && options.is_complete) {
    document.last_line = end_line(measurements.size(), options.header->strangers);
  }
  document.list_name = "measurements";
  add_records(document, measurements);
  return document;
}

}  // namespace

std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options) {
  if (const auto special = facts_of(format).report) return special(measurements, options);
  const bool is_text = format == ReportFormat::kTable;
  ReportOptions shown = options;
  if (!is_text) shown.render.width = 0;
  Document document = report_document(measurements, shown);
  if (!is_text) {
    document.title =
        measurements.empty() ? "nothing was measured." : shown_values(options) + " per iteration:";
    document.title.front() = static_cast<char>(std::toupper(document.title.front()));
  }
  return render(format, document, shown.render);
}

}  // namespace instr
