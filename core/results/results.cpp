#include "core/results/results.h"

#include <fmt/chrono.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/version.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

struct OutcomeWriter {
  Json& json;

  void operator()(const Counted& counted) const {
    bool is_counted = counted.has_count();
    json["outcome"] = is_counted ? "counted" : counted.timing ? "timed" : "verified";
    Json metrics = Json::object();
    for (const auto& [name, value] : counted.metrics) metrics[name] = json_number(value);
    for (const auto& [name, why] : counted.lost) metrics[name] = nullptr;
    json["metrics"] = metrics;
    if (counted.timing) add_timing(*counted.timing);
    if (!is_counted) return;
    json["iterations"] = counted.iterations;
    json["warmup"] = counted.warmup;
    json["steady"] = counted.steady;
    json["blocks"] = {json_number(counted.first_block_ir), json_number(counted.second_block_ir)};
    json["gated"] = counted.gated;
    if (counted.profile) json["profile"] = counted.profile->string();
  }

  void add_timing(const Timing& timing) const {
    Json times = Json::object();
    for (const Metric& metric : kMetrics) {
      const std::vector<double>& values = timing.of(metric.name);
      if (!values.empty()) times[metric.name] = json_numbers(values);
    }
    times["iterations"] = timing.iterations;
    if (timing.others) times["others"] = json_number(*timing.others);
    json["times"] = std::move(times);
  }

  void operator()(const Skipped& skipped) const {
    json["outcome"] = "skipped";
    json["reason"] = skipped.reason;
  }

  void operator()(const Failure& failure) const {
    if (failure.kind == FailureKind::kUnsupported) {
      return (*this)(Skipped{failure.message});
    }
    json["outcome"] = "failed";
    json["failure"] = {{"kind", to_string(failure.kind)}, {"message", failure.message}};
  }
};

}  // namespace

std::string utc_now() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

ResultsHeader make_results_header(Fingerprint fingerprint, std::vector<std::string> command) {
  ResultsHeader header;
  header.version = kProgramVersion;
  header.fingerprint = std::move(fingerprint);
  header.command = std::move(command);
  header.started = utc_now();
  return header;
}

Json to_json(const ResultsHeader& header) {
  Json json;
  json["schema"] = header.schema;
  json["program"] = "instr_bench";
  json["version"] = header.version;
  json["started"] = header.started;
  json["command"] = header.command;
  if (!header.commit.empty()) json["commit"] = header.commit;
  if (header.shard) json["shard"] = {header.shard->index, header.shard->count};
  json["fingerprint"] = to_json(header.fingerprint);
  return json;
}

Json to_json(const Measurement& measurement) {
  const Variant& variant = measurement.variant;
  Json json;
  json["key"] = variant.key;
  json["label"] = variant.label;
  json["params"] = Json::object();
  for (const auto& [name, value] : variant.params) json["params"][name] = value;
  json["language"] = to_string(variant.language);
  json["runtime"] = to_string(variant.runtime);
  json["autograd"] = to_string(variant.autograd);
  json["threads"] = variant.threads;
  json["device"] = variant.device;
  std::visit(OutcomeWriter{json}, measurement.outcome);
  if (const auto& verification = measurement.verification) {
    json["verification"] = {{"code", to_string(verification->code)},
                            {"reason", verification->reason}};
  }
  json["seconds"] = json_number(measurement.seconds);
  // A comparison with this file as the baseline uses the definition's limits.
  if (!variant.limits.empty()) json["limits"] = variant.limits;
  if (!variant.tags.empty()) json["tags"] = variant.tags;
  return json;
}

Json json_number(double value) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::trunc(value) && std::fabs(value) <= kLargestExact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json json_numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (double value : values) json.push_back(json_number(value));
  return json;
}

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace instr
