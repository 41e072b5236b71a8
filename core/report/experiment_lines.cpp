// The lines of PyTorch/XLA's experiment runner (benchmarks/experiment_runner.py), which its
// aggregate.py and result_analyzer.py read. Times are in seconds, and every metric is a list.
//
// The readers compare the times of runs, so that runs must have the same number of iterations: the
// requested one, else one iteration, which then has the average of the run's. They take the first
// run as the one that compiles, so that the time until it is ready becomes a run of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/read_file.h"
#include "core/base/text.h"
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
                                       {kPeakBytes, "peak_memory_bytes", 1},
                                       {kDevicePeakBytes, "cuda_peak_memory_bytes", 1},
                                       {"graphs", "graphs", 1},
                                       {"eager_graphs", "eager_graphs", 1},
                                       {"graph_breaks", "graph_breaks", 1},
                                       {"recompilations", "recompilations", 1},
                                       {"guard_failures", "guard_failures", 1},
                                       {"frames", "frames", 1},
                                       {"frames_compiled", "frames_compiled", 1},
                                       {kCoverageOperators, "coverage_operators", 1},
                                       {kCoverageTime, "coverage_time", 1},
                                       {"fused", "fused_groups", 1},
                                       {"fallbacks", "fallbacks", 1},
                                       {"bailouts", "bailouts", 1}};

// Metrics of repetitions, by their names of a run and of an iteration; null: it has none.
struct RunMetricName {
  const char* metric;
  const char* of_run;
  const char* of_iteration;
  double factor = kNanosecond;
};
constexpr RunMetricName kRunMetricNames[] = {
    {kWall, "total_time", "per_iter_time"},
    {kTraceTime, "trace_total_time", "trace_per_iter_time"},
    {"xla_compile_time", "xla_CompileTime_time_s", nullptr},
    {"xla_compilations", "xla_CompileTime_number", nullptr, 1},
    {"xla_execute_time", "xla_ExecuteTime_time_s", nullptr},
    {"xla_executions", "xla_ExecuteTime_number", nullptr, 1}};

// Metrics of a single iteration, likewise.
constexpr RunMetricName kProfiledMetricNames[] = {
    {kOperatorsCpu, "total_cpu_time_s", "per_iter_cpu_time_s"},
    {kOperatorsDevice, "total_cuda_time_s", "per_iter_cuda_time_s"}};

// The definition's file is the suite. The model is all that tells experiments apart and that the
// readers do not know from other members.
Json model_json(const Variant& variant) {
  std::string name = variant.label;
  for (const auto& [param, value] : variant.params) {
    if (param != "batch_size") name += "/" + param + "=" + value;
  }
  if (variant.threads != 1) name += fmt::format("/threads={}", variant.threads);
  if (variant.language == Language::kCpp) name += "/cpp";
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

// The readers know a backend by `dynamo` and `xla`: both are null for eager alone.
std::string find_dynamo(const Variant& variant) {
  const bool is_known_otherwise =
      variant.backend == Backend::kEager || variant.backend == Backend::kXla;
  return is_known_otherwise ? "" : facts_of(variant.backend).name;
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
          {"dynamo", text_or_null(find_dynamo(variant))},
          {"torch_xla2", nullptr},
          {"keep_model_data_on_cuda", false},
          {"enable_functionalization",
           backend.is_on_xla && find_variable("XLA_DISABLE_FUNCTIONALIZATION", variant) != "1"},
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

// Returns the iterations of a run in the line.
int iterations_of_run(const Measurement& measurement) {
  const auto requested = parse_number<int>(measurement.depends_on.get(kIterationsField));
  return std::max(1, requested.value_or(1));
}

// Returns the metric's values for each run, the one that compiles first.
std::vector<double> list_runs(const Measurement& measurement, const Timing& timing,
                              const char* metric) {
  const int iterations = iterations_of_run(measurement);
  std::vector<double> runs = timing.of(metric);
  const double usual = median(runs);
  for (double& value : runs) value *= iterations;
  const std::string until_ready =
      metric == std::string_view(kWall) ? kReadyTime : std::string(kReadyPrefix) + metric;
  const auto ready = find_metric_of(measurement, until_ready);
  if (ready && !runs.empty()) runs.insert(runs.begin(), *ready + (iterations - 1) * usual);
  return runs;
}

void add_runs(Json& json, const Measurement& measurement, const Timing& timing) {
  for (const auto& [metric, of_run, of_iteration, factor] : kRunMetricNames) {
    const std::vector<double> runs = list_runs(measurement, timing, metric);
    if (runs.empty()) continue;
    json[of_run] = seconds_json(runs, factor);
    if (of_iteration != nullptr) {
      json[of_iteration] = seconds_json(runs, factor / iterations_of_run(measurement));
    }
  }
}

Json metrics_json(const Measurement& measurement) {
  if (state_of(measurement) != MeasuredState::kMeasured) {
    return {{"error", reason_of(measurement)}};
  }
  Json json = Json::object();
  if (const Timing* timing = find_timing(measurement)) {
    add_runs(json, measurement, *timing);
    if (!timing->eager.empty()) {
      json["eager_per_iter_time"] = seconds_json(timing->eager, kNanosecond);
    }
    if (timing->others) json["others"] = {json_number(*timing->others)};
  }
  for (const auto& [metric, of_run, of_iteration, factor] : kProfiledMetricNames) {
    const auto value = find_metric_of(measurement, metric);
    if (!value) continue;
    json[of_run] = {json_number(*value * factor * iterations_of_run(measurement))};
    json[of_iteration] = {json_number(*value * factor)};
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

// Adds the times of the operators that the compiler left to LibTorch, in a run. Not a metric, since
// result_analyzer.py takes numbers only.
void add_unlowered(Json& line, const Counted& counted, double iterations) {
  if (!counted.compiler) return;
  for (const OperatorTime& one : counted.operators) {
    if (!counted.compiler->unlowered.contains(one.name)) continue;
    Json& times = line["xla_unlowered_ops"][one.name];
    if (times.is_null()) {
      times = {{"self_cpu_time_s", 0},
               {"self_cuda_time_s", 0},
               {"total_cpu_time_s", 0},
               {"total_cuda_time_s", 0},
               {"num_of_calls", 0}};
    }
    const std::string device = one.is_on_device ? "cuda" : "cpu";
    const double factor = kNanosecond * iterations;
    times["self_" + device + "_time_s"] = json_number(static_cast<double>(one.self) * factor);
    times["total_" + device + "_time_s"] = json_number(static_cast<double>(one.total) * factor);
    if (!one.is_on_device) {
      times["num_of_calls"] = json_number(static_cast<double>(one.calls) * iterations);
    }
  }
}

// Adds what the runner does not have.
void add_findings(Json& line, const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) return;
  if (counted->compiler) line["compiler"] = to_json(*counted->compiler);
  for (const OperatorTime& one : counted->operators) line["operators"].push_back(to_json(one));
  add_unlowered(line, *counted, iterations_of_run(measurement));
}

Json line_of(const Measurement& measurement, const std::string& started) {
  const Timing* timing = find_timing(measurement);
  Json line{{"model", model_json(measurement.variant)},
            {"experiment", experiment_json(measurement)},
            {"repeat", timing == nullptr ? 0 : list_runs(measurement, *timing, kWall).size()},
            {"iterations_per_run", iterations_of_run(measurement)},
            {"timed_iterations", timing == nullptr ? 0 : timing->iterations},
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
