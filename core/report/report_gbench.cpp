// A run as Google Benchmark's JSON.
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/report/report.h"
#include "core/results/library_fields.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

Json context_of(const ReportOptions& options) {
  Json context;
  context["date"] = options.header ? options.header->started : "";
  context["executable"] = "instr_bench";
  context["caches"] = Json::array();
  context["note"] = "real_time and cpu_time are instructions per iteration, not nanoseconds";
  if (!options.header) return context;
  context["instr_bench_version"] = options.header->version;
  for (const auto& [name, value] : options.header->fingerprint.entries) {
    if (!is_library_field(name)) context.emplace(name, Json(value));
  }
  return context;
}

// Why there are no valid instructions; empty if there are.
std::string error_of(const Measurement& measurement, const Json& json, const Json& metrics) {
  if (json["outcome"] == "failed") {
    const Json& failure = json["failure"];
    const auto kind = failure["kind"].get<std::string>();
    const auto message = failure["message"].get<std::string>();
    return printable(message.empty() ? kind : kind + ": " + message, true);
  }
  if (measurement.verification && measurement.verification->is_wrong()) {
    const std::string code = to_string(measurement.verification->code);
    return printable(code + ": " + measurement.verification->reason, true);
  }
  auto ir = metrics.find(kInstructions);
  return ir != metrics.end() && ir->is_number() ? "" : "no instructions were counted";
}

Json benchmark_of(const Measurement& measurement, const Json& json) {
  const Json metrics = json.value("metrics", Json::object());
  const std::string error = error_of(measurement, json, metrics);
  Json out;
  const std::string name = printable(measurement.variant.key);
  out["name"] = name;
  out["run_name"] = name;
  out["run_type"] = "iteration";
  out["repetitions"] = 1;
  out["repetition_index"] = 0;
  out["threads"] = measurement.variant.threads;
  if (!error.empty()) {
    out["error_occurred"] = true;
    out["error_message"] = error;
  }
  out["iterations"] = json.value("iterations", 0);
  const Json time = error.empty() ? metrics[kInstructions] : Json(0);
  out["real_time"] = time;
  out["cpu_time"] = time;
  out["time_unit"] = error.empty() ? "ns" : "s";
  if (json.value("steady", true) == false) out["label"] = "not steady";
  // A counter never replaces one of the fields above, whatever its name.
  for (const auto& [metric, value] : metrics.items()) {
    if (value.is_number()) out.emplace(metric, Json(value));
  }
  return out;
}

}  // namespace

std::string report_gbench(const std::vector<Measurement>& measurements,
                          const ReportOptions& options) {
  Json json;
  json["context"] = context_of(options);
  json["benchmarks"] = Json::array();
  for (const Measurement& measurement : measurements) {
    const Json one = to_json(measurement);
    if (one["outcome"] != "skipped") json["benchmarks"].push_back(benchmark_of(measurement, one));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace instr
