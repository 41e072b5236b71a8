// Reports for programs: JSON, JSON Lines, CSV.
#include "core/report/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/csv.h"
#include "core/report/report_summary.h"
#include "core/results/side_file.h"

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

// A field of a measurement's JSON as a CSV field; empty if it is missing or null.
std::string field(const Json& json, const std::string& name) {
  auto found = json.find(name);
  if (found == json.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : to_line(*found);
}

std::string params_of(const Variant& variant) {
  std::string text;
  for (const auto& [name, value] : variant.params) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

std::vector<std::string> csv_fields(const Measurement& measurement,
                                    const std::vector<std::string>& metrics) {
  Json json = to_json(measurement);
  std::vector<std::string> fields{field(json, "key"), field(json, "label"),
                                  params_of(measurement.variant)};
  for (const char* name : {"language", "backend", "autograd", "threads", "device", "outcome"}) {
    fields.push_back(field(json, name));
  }
  Json values = json.value("metrics", Json::object());
  for (const std::string& name : metrics) fields.push_back(field(values, name));
  for (const char* name : {"iterations", "steady"}) fields.push_back(field(json, name));
  Json blocks = json.value("blocks", Json::array());
  for (std::size_t i = 0; i < 2; ++i) {
    fields.push_back(i < blocks.size() && blocks[i].is_number() ? to_line(blocks[i]) : "");
  }
  for (const char* name : {"gated", "seconds"}) fields.push_back(field(json, name));
  Json failure = json.value("failure", Json::object());
  fields.push_back(field(failure, "kind"));
  fields.push_back(failure.empty() ? field(json, "reason") : field(failure, "message"));
  Json verification = json.value("verification", Json::object());
  for (const char* name : {"code", "reason"}) fields.push_back(field(verification, name));
  return fields;
}

}  // namespace

std::string report_json(const std::vector<Measurement>& measurements,
                        const ReportOptions& options) {
  Json json = options.header ? to_json(*options.header) : Json::object();
  json["complete"] = options.is_complete;
  json["measurements"] = Json::array();
  for (const Measurement& measurement : measurements) {
    json["measurements"].push_back(to_json(measurement));
  }
  Summary summary = summarize(measurements);
  json["summary"] = {{"counted", summary.counted},
                     {"skipped", summary.skipped},
                     {"failed", summary.failed},
                     {"unsteady", summary.unsteady.size()},
                     {"seconds", options.seconds.value_or(summary.seconds)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_jsonl(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  std::string out;
  if (options.header) out += to_line(to_json(*options.header)) + "\n";
  for (const Measurement& measurement : measurements) out += to_line(to_json(measurement)) + "\n";
  if (options.header && options.is_complete) out += end_line(measurements.size()) + "\n";
  return out;
}

std::string report_csv(const std::vector<Measurement>& measurements, const ReportOptions&) {
  std::vector<std::string> metrics = metric_names(measurements);
  std::vector<std::string> names{"key",      "label",   "params", "language", "backend",
                                 "autograd", "threads", "device", "outcome"};
  names.insert(names.end(), metrics.begin(), metrics.end());
  for (const char* name :
       {"iterations", "steady", "first_block_instructions", "second_block_instructions", "gated",
        "seconds", "failure_kind", "message", "verification", "verification_reason"}) {
    names.emplace_back(name);
  }
  std::string out = csv_line(names);
  for (const Measurement& measurement : measurements) {
    out += csv_line(csv_fields(measurement, metrics));
  }
  return out;
}

}  // namespace instr
