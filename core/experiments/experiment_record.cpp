#include "core/experiments/experiment_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/json_line.h"
#include "core/results/compiler_json.h"
#include "core/results/operator_times.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOperators = "operators";
constexpr double kNanoseconds = 1e9;  // of a second

Json seconds(std::uint64_t nanoseconds) {
  return json_number(static_cast<double>(nanoseconds) / kNanoseconds);
}

std::uint64_t nanoseconds(const Json& seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds.get<double>() * kNanoseconds));
}

// Adds `operators` to a line: a list of {"name", "on_device", "calls", "self_time", "total_time"},
// with times in seconds of one iteration.
void add_operators(Json& line, const std::vector<OperatorTime>& operators) {
  for (const OperatorTime& operator_time : operators) {
    line[kOperators].push_back({{"name", operator_time.name},
                                {"on_device", operator_time.is_on_device},
                                {"calls", operator_time.calls},
                                {"self_time", seconds(operator_time.self)},
                                {"total_time", seconds(operator_time.total)}});
  }
}

std::vector<OperatorTime> parse_operators(const Json& line) {
  std::vector<OperatorTime> operators;
  const auto list = line.find(kOperators);
  if (list == line.end()) return operators;
  for (const Json& item : *list) {
    try {
      operators.push_back({item.at("name"), item.at("on_device"), item.at("calls"),
                           nanoseconds(item.at("self_time")), nanoseconds(item.at("total_time"))});
    } catch (const Json::exception&) {
      continue;
    }
  }
  return operators;
}

constexpr double kNanosecond = 1e-9;
constexpr std::size_t kMaxOperators = 10;  // in a line; --dump=profile has all
const std::string kBehindKind = ": ";      // in the reason of a failure

// The name of a metric in a line, and the factor to its unit there.
struct MetricName {
  const char* metric;
  const char* name;
  double factor;
};
constexpr MetricName kMetricNames[] = {{"first_result", "first_result_time", kNanosecond},
                                       {"ready", "ready_time", kNanosecond},
                                       {"ready_cpu", "ready_cpu_time", kNanosecond},
                                       {"warm_ready", "warm_ready_time", kNanosecond},
                                       {"warm_ready_cpu", "warm_ready_cpu_time", kNanosecond},
                                       {"operators_cpu", "total_cpu_time", kNanosecond},
                                       {"operators_device", "total_cuda_time", kNanosecond},
                                       {"peak_bytes", "peak_memory_bytes", 1},
                                       {"device_peak_bytes", "cuda_peak_memory_bytes", 1},
                                       {"graphs", "graphs", 1},
                                       {"graph_breaks", "graph_breaks", 1},
                                       {"recompilations", "recompilations", 1},
                                       {"guard_failures", "guard_failures", 1},
                                       {"frames", "frames", 1},
                                       {"frames_compiled", "frames_compiled", 1},
                                       {"fused", "fused_groups", 1},
                                       {"fallbacks", "fallbacks", 1},
                                       {"bailouts", "bailouts", 1}};

constexpr std::pair<ExperimentState, const char*> kStates[] = {
    {ExperimentState::kMeasured, "measured"},
    {ExperimentState::kFailed, "failed"},
    {ExperimentState::kSkipped, "skipped"}};

// The definition's file is the suite, and the rest of the key the model.
Json model_json(const Variant& variant) {
  std::string name = variant.label;
  for (const auto& [param, value] : variant.params) {
    if (param != "batch_size" && param != "shapes") name += "/" + param + "=" + value;
  }
  return {{"suite_name", fs::path(variant.where.file).stem().string()}, {"model_name", name}};
}

Json experiment_json(const ExperimentRecord& record) {
  const Variant& variant = record.variant;
  Json json;
  json["device"] = variant.device;
  json["device_model"] = record.setting.device_model;
  json["backend"] = find_axis_value("backend", variant);
  json["test"] = find_axis_value("test", variant);
  const std::string batch = find_axis_value("batch_size", variant);
  json["batch_size"] = batch.empty() ? Json(nullptr) : parse_json(batch).value_or(Json(batch));
  json["dtype"] = find_axis_value("dtype", variant);
  json["shapes"] = find_axis_value("shapes", variant);
  json["threads"] = variant.threads;
  return json;
}

Json metrics_json(const ExperimentRecord& record) {
  Json json = Json::object();
  if (record.state != ExperimentState::kMeasured) return json;
  json["total_time"] = json_numbers(record.total_times);
  json["per_iter_time"] = json_numbers(record.per_iter_times);
  if (!record.eager_times.empty()) json["eager_per_iter_time"] = json_numbers(record.eager_times);
  if (record.others) json["others"] = json_number(*record.others);
  for (const auto& [name, value] : record.metrics) json[name] = json_number(value);
  return json;
}

void take_times(const Measurement& measurement, ExperimentRecord& record) {
  const auto& counted = std::get<Counted>(measurement.outcome);
  if (counted.timing) {
    record.iterations = counted.timing->iterations;
    for (double wall : counted.timing->of(kWall)) {
      record.per_iter_times.push_back(wall * kNanosecond);
      record.total_times.push_back(wall * kNanosecond * static_cast<double>(record.iterations));
    }
    for (double wall : counted.timing->eager) record.eager_times.push_back(wall * kNanosecond);
    record.others = counted.timing->others;
  }
  for (const auto& [metric, name, factor] : kMetricNames) {
    auto entry = counted.metrics.find(metric);
    if (entry != counted.metrics.end()) record.metrics[name] = entry->second * factor;
  }
  if (!is_script(measurement.variant.backend)) return;
  // The time to start beyond one run at the final speed.
  for (const auto& [until, compiling] : {std::pair{"ready_time", "compile_time"},
                                         {"ready_cpu_time", "compile_cpu_time"},
                                         {"warm_ready_time", "warm_compile_time"},
                                         {"warm_ready_cpu_time", "warm_compile_cpu_time"}}) {
    auto ready = record.metrics.find(until);
    if (ready == record.metrics.end()) continue;
    record.metrics[compiling] = std::max(0.0, ready->second - median(record.per_iter_times));
  }
}

template <class T>
std::optional<T> value_at(const Json& json, const char* pointer) {
  const Json::json_pointer where(pointer);
  if (!json.contains(where)) return std::nullopt;
  const Json& value = json.at(where);
  if constexpr (std::is_same_v<T, std::string>) {
    return value.is_string() ? std::optional(value.get<T>()) : std::nullopt;
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    bool are_numbers = value.is_array() && std::all_of(value.begin(), value.end(),
                                                       [](auto& item) { return item.is_number(); });
    return are_numbers ? std::optional(value.get<T>()) : std::nullopt;
  } else {
    bool fits = value.is_number_integer() && value.is_number_unsigned() &&
                std::in_range<T>(value.get<std::uint64_t>());
    return fits ? std::optional(static_cast<T>(value.get<std::uint64_t>())) : std::nullopt;
  }
}

}  // namespace

Selection with_eager(Selection selection) {
  auto& backends = selection.backends;
  bool has_eager = std::find(backends.begin(), backends.end(), Backend::kEager) != backends.end();
  if (!backends.empty() && !has_eager) backends.insert(backends.begin(), Backend::kEager);
  return selection;
}

ExperimentRecord record_of(const Measurement& measurement, const ExperimentSetting& setting) {
  ExperimentRecord record;
  record.variant = measurement.variant;
  record.setting = setting;
  record.setting.device_model = setting.model_of(record.variant);
  if (const auto* skipped = std::get_if<Skipped>(&measurement.outcome)) {
    record.state = ExperimentState::kSkipped;
    record.reason = skipped->reason;
  } else if (const auto* failure = std::get_if<Failure>(&measurement.outcome)) {
    bool is_skip = failure->kind == FailureKind::kUnsupported;
    record.state = is_skip ? ExperimentState::kSkipped : ExperimentState::kFailed;
    if (!is_skip) record.failure = failure->kind;
    record.reason =
        is_skip ? failure->message : to_string(failure->kind) + (kBehindKind + failure->message);
  } else {
    take_times(measurement, record);
    const auto& counted = std::get<Counted>(measurement.outcome);
    record.compiler = counted.compiler;
    record.operators = counted.operators;
    record.operators.resize(std::min(record.operators.size(), kMaxOperators));
  }
  if (measurement.verification) {
    record.code = measurement.verification->code;
    record.code_reason = measurement.verification->reason;
  }
  return record;
}

Timing timing_of(const ExperimentRecord& record) {
  Timing timing;
  timing.iterations = record.iterations;
  for (double time : record.per_iter_times) timing.values[kWall].push_back(time / kNanosecond);
  for (double time : record.eager_times) timing.eager.push_back(time / kNanosecond);
  timing.others = record.others;
  if (record.variant.backend != Backend::kEager) add_relative(timing, timing.eager);
  return timing;
}

Measurement measurement_of(const ExperimentRecord& record) {
  Measurement measurement{record.variant, Skipped{record.reason}, 0,
                          Verification{record.code, record.code_reason}};
  if (record.failure) {
    std::string kind = to_string(*record.failure) + kBehindKind;
    bool says_so = record.reason.starts_with(kind);
    measurement.outcome = Failure{*record.failure, record.reason.substr(says_so ? kind.size() : 0)};
  }
  if (record.state != ExperimentState::kMeasured) return measurement;
  Counted counted;
  Timing timing = timing_of(record);
  add_times(counted.metrics, timing);
  for (const auto& [metric, name, factor] : kMetricNames) {
    auto entry = record.metrics.find(name);
    if (entry != record.metrics.end()) counted.metrics[metric] = entry->second / factor;
  }
  counted.timing = std::move(timing);
  counted.compiler = record.compiler;
  counted.operators = record.operators;
  measurement.outcome = std::move(counted);
  if (record.variant.backend == Backend::kEager) measurement.verification.reset();
  return measurement;
}

Json to_json(const ExperimentRecord& record) {
  const auto* state = std::find_if(std::begin(kStates), std::end(kStates),
                                   [&](const auto& item) { return item.first == record.state; });
  Json json;
  json["model"] = model_json(record.variant);
  json["experiment"] = experiment_json(record);
  json["repetitions"] = record.setting.repetitions;
  json["iterations_per_run"] = record.iterations;
  json["metrics"] = metrics_json(record);
  if (record.compiler) add_compiler(json, *record.compiler);
  add_operators(json, record.operators);
  json["timestamp"] = record.timestamp;
  json["verification_code"] = to_string(record.code);
  if (!record.code_reason.empty()) json["verification_reason"] = record.code_reason;
  json["state"] = state->second;
  if (!record.reason.empty()) json["reason"] = record.reason;
  json["key"] = record.variant.key;
  json["asked_iterations"] = record.setting.iterations_per_run.value_or(0);
  json["libtorch_version"] = record.setting.libtorch;
  if (record.experiments != 0) json["experiments"] = record.experiments;
  for (const auto& [name, value] : record.fingerprint.entries) json["fingerprint"][name] = value;
  return json;
}

bool has_failed(const ExperimentRecord& record) {
  return record.state == ExperimentState::kFailed || Verification{record.code, ""}.is_wrong();
}

bool is_final(const ExperimentRecord& record) {
  return record.failure != FailureKind::kWorkerLost &&
         record.failure != FailureKind::kCompileError &&
         record.fingerprint.get(kUnknownInputs).empty();
}

Expected<ExperimentRecord> parse_experiment(std::string_view line) {
  TRY_ASSIGN(const Json json, parse_json(line));
  auto key = value_at<std::string>(json, "/key");
  auto state = value_at<std::string>(json, "/state");
  auto repetitions = value_at<int>(json, "/repetitions");
  auto code =
      verification_code_from(value_at<std::string>(json, "/verification_code").value_or(""));
  const auto* known = std::find_if(std::begin(kStates), std::end(kStates),
                                   [&](const auto& item) { return state == item.second; });
  if (!key || !repetitions || !code || known == std::end(kStates)) {
    return fail("this line is not the result of an experiment");
  }
  ExperimentRecord record;
  record.variant = parse_key(*key);
  record.variant.where.file = value_at<std::string>(json, "/model/suite_name").value_or("");
  record.setting.repetitions = *repetitions;
  int requested = value_at<int>(json, "/asked_iterations").value_or(0);
  if (requested != 0) record.setting.iterations_per_run = requested;
  record.setting.libtorch = value_at<std::string>(json, "/libtorch_version").value_or("");
  record.setting.device_model =
      value_at<std::string>(json, "/experiment/device_model").value_or("");
  record.state = known->first;
  record.reason = value_at<std::string>(json, "/reason").value_or("");
  if (record.state == ExperimentState::kFailed) {
    record.failure = failure_kind_from(record.reason.substr(0, record.reason.find(kBehindKind)))
                         .value_or(FailureKind::kWorkerLost);
  }
  record.iterations = value_at<std::uint64_t>(json, "/iterations_per_run").value_or(0);
  record.timestamp = value_at<std::string>(json, "/timestamp").value_or("");
  record.code = *code;
  record.code_reason = value_at<std::string>(json, "/verification_reason").value_or("");
  record.experiments = value_at<std::size_t>(json, "/experiments").value_or(0);
  if (record.state == ExperimentState::kMeasured) {
    auto total = value_at<std::vector<double>>(json, "/metrics/total_time");
    auto per_iter = value_at<std::vector<double>>(json, "/metrics/per_iter_time");
    if (!total || !per_iter) return fail("this line's times are not lists of numbers");
    record.total_times = *std::move(total);
    record.per_iter_times = *std::move(per_iter);
    record.eager_times = value_at<std::vector<double>>(json, "/metrics/eager_per_iter_time")
                             .value_or(std::vector<double>());
  }
  if (auto metrics = json.find("metrics"); metrics != json.end() && metrics->is_object()) {
    for (const auto& [name, value] : metrics->items()) {
      if (value.is_number()) record.metrics[name] = value.get<double>();
    }
  }
  if (auto others = record.metrics.extract("others")) record.others = others.mapped();
  if (auto fields = json.find("fingerprint"); fields != json.end() && fields->is_object()) {
    for (const auto& [name, value] : fields->items()) {
      if (value.is_string())
        record.fingerprint.entries.emplace_back(name, value.get<std::string>());
    }
  }
  record.compiler = parse_compiler(json);
  record.operators = parse_operators(json);
  return record;
}

}  // namespace instr
