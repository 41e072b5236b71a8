#include "core/report/report.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "core/report/backend_summary.h"
#include "core/report/list.h"
#include "core/report/report_summary.h"
#include "core/report/report_tables.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// The usual metrics first, then any others.
std::vector<std::string> metric_names(const std::vector<Measurement>& measurements) {
  std::vector<std::string> names = names_of(kUsualMetrics);
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

}  // namespace

RenderOptions space_of(const ReportOptions& options) {
  return {.width = static_cast<std::size_t>(std::max(options.width, 0)), .color = options.color};
}

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

std::string report(ReportFormat format, const std::vector<Measurement>& measurements,
                   const ReportOptions& options) {
  if (const auto special = facts_of(format).report) return special(measurements, options);
  const bool is_text = format == ReportFormat::kTable;
  ReportOptions shown = options;
  if (!is_text) shown.width = 0;
  Document document = report_document(measurements, shown);
  if (!is_text) {
    document.title =
        measurements.empty() ? "nothing was measured." : shown_values(options) + " per iteration:";
    document.title.front() = static_cast<char>(std::toupper(document.title.front()));
  }
  return render(format, document, space_of(shown));
}

}  // namespace instr
