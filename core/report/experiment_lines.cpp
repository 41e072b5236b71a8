// The lines of PyTorch/XLA's experiment runner (benchmarks/experiment_runner.py), which its
// aggregate.py and result_analyzer.py read. Times are in seconds, and every metric is a list.
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "core/base/read_file.h"
#include "core/definitions/axes.h"
#include "core/report/formats.h"
#include "core/report/run_report.h"
#include "core/results/profile_json.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kNanosecond = 1e-9;

// The name of a metric in a line, and the factor to its unit there.
struct MetricName {
  const char* metric;
  const char* name;
  double factor;
};
constexpr MetricName kMetricNames[] = {{kFirstResultTime, "first_result_time", kNanosecond},
                                       {kReadyTime, "ready_time", kNanosecond},
                                       {kCompileTime, "compile_time", kNanosecond},
                                       {kCompileCpu, "compile_cpu_time", kNanosecond},
                                       {kWarmCompileTime, "warm_compile_time", kNanosecond},
                                       {kWarmCompileCpu, "warm_compile_cpu_time", kNanosecond},
                                       {kOperatorsCpu, "total_cpu_time", kNanosecond},
                                       {kOperatorsDevice, "total_cuda_time", kNanosecond},
                                       {kPeakBytes, "peak_memory_bytes", 1},
                                       {kDevicePeakBytes, "cuda_peak_memory_bytes", 1},
                                       {"graphs", "graphs", 1},
                                       {"graph_breaks", "graph_breaks", 1},
                                       {"recompilations", "recompilations", 1},
                                       {"guard_failures", "guard_failures", 1},
                                       {"frames", "frames", 1},
                                       {"frames_compiled", "frames_compiled", 1},
                                       {"fused", "fused_groups", 1},
                                       {"fallbacks", "fallbacks", 1},
                                       {"bailouts", "bailouts", 1}};

// The definition's file is the suite, and the rest of the key the model.
Json model_json(const Variant& variant) {
  static const std::set<std::string> axes{"batch_size", "shapes", "memory_format", "setting"};
  std::string name = variant.label;
  for (const auto& [param, value] : variant.params) {
    if (!axes.contains(param)) name += "/" + param + "=" + value;
  }
  return {{"suite_name", suite_of(variant)}, {"model_name", name}};
}

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

// Returns a variable of the environment that the variant is measured in.
std::string find_variable(const std::string& name, const Variant& variant) {
  if (variant.setting != nullptr) {
    for (const auto& [known, value] : variant.setting->environment) {
      if (known == name) return value;
    }
  }
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

Json experiment_json(const Measurement& measurement) {
  const Variant& variant = measurement.variant;
  const BackendFacts& backend = facts_of(variant.backend);
  const std::string batch = find_axis_value("batch_size", variant);
  const std::string flags = find_variable("XLA_FLAGS", variant);
  return {{"experiment_name", "run_all"},
          {"accelerator", variant.device},
          {"accelerator_model", measurement.depends_on.get(kDeviceModel)},
          {"xla", text_or_null(backend.is_on_xla ? "PJRT" : "")},
          {"xla_flags", text_or_null(backend.is_on_xla ? flags : "")},
          {"dynamo", text_or_null(is_compiled(variant.backend) ? backend.name : "")},
          {"torch_xla2", nullptr},
          {"keep_model_data_on_cuda", false},
          {"test", find_axis_value("test", variant)},
          {"batch_size", batch.empty() ? Json() : parse_json(batch).value_or(Json(batch))},
          {"backend", backend.name},
          {"dtype", find_axis_value("dtype", variant)},
          {"shapes", find_axis_value("shapes", variant)},
          {"memory_format", find_axis_value("memory_format", variant)},
          {"setting", find_axis_value("setting", variant)},
          {"threads", variant.threads}};
}

Json seconds_json(const std::vector<double>& times, double factor) {
  Json json = Json::array();
  for (const double time : times) json.push_back(json_number(time * factor));
  return json;
}

Json metrics_json(const Measurement& measurement) {
  if (state_of(measurement) != MeasuredState::kMeasured) {
    return {{"error", reason_of(measurement)}};
  }
  Json json = Json::object();
  if (const Timing* timing = find_timing(measurement)) {
    const double of_run = kNanosecond * static_cast<double>(timing->iterations);
    json["total_time"] = seconds_json(timing->of(kWall), of_run);
    json["per_iter_time"] = seconds_json(timing->of(kWall), kNanosecond);
    if (!timing->eager.empty()) {
      json["eager_per_iter_time"] = seconds_json(timing->eager, kNanosecond);
    }
    if (timing->others) json["others"] = {json_number(*timing->others)};
  }
  for (const auto& [metric, name, factor] : kMetricNames) {
    const auto value = find_metric_of(measurement, metric);
    if (value) json[name] = {json_number(*value * factor)};
  }
  return json;
}

// Seconds since 1970; nothing if `utc` is not a time.
Json epoch_json(const std::string& utc) {
  std::tm time{};
  const char* end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  return end == nullptr ? Json() : Json(static_cast<std::int64_t>(timegm(&time)));
}

// Adds what the runner does not have.
void add_findings(Json& line, const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) return;
  if (counted->compiler) line["compiler"] = to_json(*counted->compiler);
  for (const OperatorTime& one : counted->operators) line["operators"].push_back(to_json(one));
}

Json line_of(const Measurement& measurement, const std::string& started) {
  const Timing* timing = find_timing(measurement);
  Json line{{"model", model_json(measurement.variant)},
            {"experiment", experiment_json(measurement)},
            {"repeat", timing == nullptr ? 0 : timing->of(kWall).size()},
            {"iterations_per_run", timing == nullptr ? 0 : timing->iterations},
            {"metrics", metrics_json(measurement)},
            {"timestamp", epoch_json(started)},
            {"verification_code", to_string(code_of(measurement))},
            {"outputs_file", nullptr},
            {"key", measurement.variant.key}};
  add_findings(line, measurement);
  return line;
}

}  // namespace

std::string report_experiment_lines(const std::vector<Measurement>& measurements,
                                    const ReportOptions& options) {
  const std::string started = options.header ? options.header->started : "";
  std::string lines;
  for (const Measurement& measurement : measurements) {
    lines += to_line(line_of(measurement, started)) + "\n";
  }
  return lines;
}

}  // namespace instr
