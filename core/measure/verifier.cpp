#include "core/measure/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/definitions/axes.h"
#include "core/measure/failure_text.h"

namespace instr {

namespace {

struct TypeTolerance {
  const char* type;
  double relative;
  double absolute;
};

// As documented for torch.testing.
constexpr TypeTolerance kTolerances[] = {
    {"Half", 1e-3, 1e-5},          {"BFloat16", 1.6e-2, 1e-5},  {"Float", 1.3e-6, 1e-5},
    {"Double", 1e-7, 1e-7},        {"ComplexHalf", 1e-3, 1e-5}, {"ComplexFloat", 1.3e-6, 1e-5},
    {"ComplexDouble", 1e-7, 1e-7}, {"QInt8", 1.3e-6, 1e-5},     {"QUInt8", 1.3e-6, 1e-5},
    {"QInt32", 1.3e-6, 1e-5}};

// A candidate's error against a double-precision reference, divided by eager's.
constexpr double kMaxEagerErrorRatio = 2;

const TypeTolerance& tolerance_for(std::string_view type) {
  return *std::find_if(std::begin(kTolerances), std::end(kTolerances),
                       [type](const TypeTolerance& known) { return type == known.type; });
}

// The rule for root mean squares of noisy tensors.
struct NoiseRule {
  double max_eager_error_ratio;
  double absolute;  // a share of the tolerance that is allowed in any case
};
constexpr NoiseRule kNoiseRule{3, 0.1};
constexpr double kFewValues = 1000;
constexpr double kLargeTolerance = 0.02;

bool is_inexact(const std::string& type) {
  return std::any_of(std::begin(kTolerances), std::end(kTolerances),
                     [&type](const TypeTolerance& known) { return type == known.type; });
}

double field_number(const wire::Message& item, const char* name) {
  return std::strtod(item.get(name, "nan").c_str(), nullptr);
}

// "NaN", "inf", "1.5"
std::string shown(double value) { return std::isnan(value) ? "NaN" : fmt::format("{:.6g}", value); }

// The verdict on a tensor.
struct Opinion {
  bool is_good = true;
  double difference = 0;  // largest
  std::string reason;
};

Opinion bad(std::string reason) { return {false, 0, std::move(reason)}; }

Opinion by_cosine(const wire::Message& item, double min) {
  double cosine = field_number(item, "cosine");
  double difference = field_number(item, "difference");
  if (cosine >= min) {
    return {true, difference, fmt::format("cosine similarity {}", shown(cosine))};
  }
  return bad(
      fmt::format("cosine similarity {}, at least {} is required", shown(cosine), shown(min)));
}

std::string excess_reason(const wire::Message& item) {
  double value = field_number(item, "value");
  double eager = field_number(item, "eager_value");
  if (!std::isfinite(value) || !std::isfinite(eager)) {
    return fmt::format("{} at {} where eager has {}", shown(value), item.get("at"), shown(eager));
  }
  return fmt::format("largest difference {:.3g} at {}, allowed {:.3g}",
                     field_number(item, "difference"), item.get("at"),
                     field_number(item, "allowed"));
}

// Accepts a candidate that is about as accurate as eager, judged by a run in double precision.
Opinion by_reference(const wire::Message& item) {
  double error = field_number(item, "reference_error");
  double eager_error = field_number(item, "eager_reference_error");
  double max = kMaxEagerErrorRatio * eager_error + field_number(item, "atol");
  std::string errors = fmt::format("error against a float64 reference {:.3g}, eager's is {:.3g}",
                                   error, eager_error);
  if (std::isfinite(error) && std::isfinite(eager_error) && error <= max) {
    return {true, field_number(item, "difference"), errors};
  }
  return bad(std::isfinite(error) ? excess_reason(item) + "; " + errors : excess_reason(item));
}

// Returns true for images of one pixel each.
bool is_of_pixels(const wire::Message& item) {
  const std::string shape = item.get("shape");
  return shape.ends_with(", 1, 1]") && std::count(shape.begin(), shape.end(), ',') == 3;
}

// Decides by such a run as torch._dynamo.utils.same() does.
Opinion by_mean_square(const wire::Message& item, double tolerance) {
  const std::string type = item.get("type");
  const bool is_noisy = type == "Half" || type == "BFloat16" ||
                        field_number(item, "count") < kFewValues || is_of_pixels(item) ||
                        tolerance >= kLargeTolerance;
  const double factor = is_noisy ? kNoiseRule.max_eager_error_ratio : kMaxEagerErrorRatio;
  const double error = field_number(item, "reference_rmse");
  const double eager_error = field_number(item, "eager_reference_rmse");
  const std::string errors =
      fmt::format("RMSE against a float64 reference {:.3g}, eager's is {:.3g}, allowed {} times",
                  error, eager_error, factor);
  if (error <= factor * eager_error + kNoiseRule.absolute * tolerance) {
    return {true, field_number(item, "difference"), errors};
  }
  return bad(excess_reason(item) + "; " + errors);
}

Opinion judge_tensor(const wire::Message& item, const Tolerance& tolerance) {
  if (!item.get("otherwise").empty()) return bad(item.get("otherwise"));
  for (const auto& [field, eager_field, what] : {std::tuple{"shape", "eager_shape", "shape"},
                                                 {"type", "eager_type", "data type"},
                                                 {"device", "eager_device", "device"}}) {
    if (item.get(field) == item.get(eager_field)) continue;
    return bad(fmt::format("{} {}, eager's is {}", what, item.get(field), item.get(eager_field)));
  }
  if (tolerance.cosine && is_inexact(item.get("type"))) return by_cosine(item, *tolerance.cosine);
  double difference = field_number(item, "difference");
  if (item.get("exceeds") == "0") {
    return {true, difference,
            difference == 0 ? "equal" : fmt::format("largest difference {:.3g}", difference)};
  }
  if (item.fields.contains("reference_error")) {
    return tolerance.rmse ? by_mean_square(item, *tolerance.rmse) : by_reference(item);
  }
  return bad(excess_reason(item));
}

std::string with_name(const wire::Message& item, const std::string& reason) {
  std::string name = item.get("name");
  return name.empty() ? reason : name + ": " + reason;
}

// Returns FAIL if a tensor differs; else the verdict on the one with the largest difference.
Verification judge_tensors(const wire::Message& reply, const Tolerance& tolerance) {
  Verification malformed{VerificationCode::kVerifierDidntRun, "the worker's reply is malformed"};
  if (!reply.fields.contains("0")) return malformed;
  Verification verdict{VerificationCode::kPass, ""};
  double largest = -1;
  std::optional<std::string> all_nan;
  for (std::size_t i = 0; reply.fields.contains(std::to_string(i)); ++i) {
    auto item = wire::decode_line(reply.get(std::to_string(i)));
    if (!item) return malformed;
    if (!item->fields.contains("eager_type")) continue;  // neither has this gradient
    Opinion opinion = judge_tensor(*item, tolerance);
    if (!opinion.is_good) return {VerificationCode::kFail, with_name(*item, opinion.reason)};
    if (item->get("all_nan") == "1") {
      all_nan =
          with_name(*item, "there is nothing to compare: all values are NaN, eager's as well");
    }
    if (!(opinion.difference > largest)) continue;
    largest = opinion.difference;
    verdict.reason = with_name(*item, opinion.reason);
  }
  if (all_nan) return {VerificationCode::kVerifierSkipped, *all_nan};
  return verdict;
}

// Returns the error of TorchScript's exceptions: the line after the traceback. On CUDA there are
// hints below it.
std::string short_text(std::string text) {
  text.resize(trim_end(text, " \n").size());
  if (!text.starts_with("The following operation failed in the TorchScript")) return text;
  std::size_t last = text.rfind("\nRuntimeError: ");
  if (last == std::string::npos) last = text.rfind('\n');
  if (last == std::string::npos) return text;
  return text.substr(last + 1, text.find('\n', last + 1) - last - 1);
}

Verification judge_failure(const wire::Message& reply) {
  if (reply.get("kind") == "unsupported") {
    return {VerificationCode::kVerifierSkipped, reply.get("message")};
  }
  const std::string stage = reply.get("stage");
  const bool is_of_candidate = stage.empty() || stage == "candidate";
  const std::string part = is_of_candidate ? "" : "in the " + stage + " run: ";
  return {VerificationCode::kVerifierDidntRun, part + reply.get("message")};
}

using Code = VerificationCode;

wire::Message make_request(const Variant& candidate, const TimerOptions& options,
                           std::chrono::milliseconds limit) {
  wire::Message request{"verify",
                        {{"device", candidate.device},
                         {"threads", std::to_string(candidate.threads)},
                         {"dtype", find_default_type(candidate)},
                         {"memory_limit", std::to_string(options.memory_limit)},
                         {"timeout_ms", std::to_string(limit.count())}}};
  if (is_compiled(candidate.backend)) add_to(request, options.compiler, candidate);
  return request;
}

}  // namespace

std::string allowed_differences(const Variant& variant) {
  const TypeTolerance& lower = tolerance_for(is_on_cuda(variant) ? "Half" : "BFloat16");
  std::string text;
  const Tolerance& tolerance = variant.tolerance;
  const auto given = tolerance.rmse ? tolerance.rmse : tolerance.relative;
  const auto absolute = tolerance.rmse ? tolerance.rmse : tolerance.absolute;
  for (const TypeTolerance& type : kTolerances) {
    double relative = given.value_or(type.relative);
    const bool is_lowered = &type == &lower || &type == &tolerance_for("Float");
    if (is_autocast(variant) && is_lowered) relative = std::max(relative, lower.relative);
    text += fmt::format("{} {} {} ", type.type, relative, absolute.value_or(type.absolute));
  }
  return text;
}

Verification judge(const wire::Message& reply, const Tolerance& tolerance) {
  using Code = VerificationCode;
  if (reply.verb == "compared") return judge_tensors(reply, tolerance);
  if (reply.verb == "failed") return judge_failure(reply);
  if (reply.verb == "nothing") {
    return {Code::kVerifierSkipped, "eager gives nothing to compare: " + reply.get("message")};
  }
  if (reply.verb == "raised") {
    return {reply.get("by") == "eager" ? Code::kEagerFailed : Code::kExceptionRaised,
            short_text(reply.get("message"))};
  }
  if (reply.verb == "nondeterministic") {
    std::string name = reply.get("name");
    return {Code::kNondeterministicEagerRun,
            (name.empty() ? "the output" : "the " + name) + " differs between two runs of eager"};
  }
  return {Code::kVerifierDidntRun, "the worker's reply is malformed: " + wire::encode(reply)};
}

Expected<CompiledVariants> compile_with_eager(const std::vector<Variant>& variants, Purpose purpose,
                                              const NativeLanguage& language,
                                              std::stop_token stop) {
  std::vector<Variant> all;
  std::set<std::string> keys;
  for (const Variant& variant : variants) {
    for (const Variant& each : {make_eager(variant), variant}) {
      if (keys.insert(each.key).second) all.push_back(each);
    }
  }
  return language.support.compile_all(all, purpose, stop);
}

void add_verification(wire::Message& request, std::set<std::filesystem::path>& units,
                      const Variant& candidate, const CompiledVariants& compiled) {
  const auto unit = compiled.units.find(candidate.key);
  const auto eager = compiled.units.find(make_eager(candidate).key);
  if (unit == compiled.units.end() || eager == compiled.units.end()) return;
  units.insert({unit->second.unit, eager->second.unit});
  request.fields["eager"] = eager->second.symbol;
  request.fields["candidate"] = unit->second.symbol;
  request.fields["allowed"] = allowed_differences(candidate);
}

Verification judge(const wire::Message& reply, const Variant& candidate) {
  Verification verified = judge(reply, candidate.tolerance);
  const auto kind = failure_kind_from(reply.get("kind"));
  if (kind == FailureKind::kTimedOut) verified.reason += timeout_advice(candidate);
  if (auto place = script_place(reply.get("message"), candidate)) {
    verified.reason = to_string(*place) + ": " + verified.reason;
  }
  return verified;
}

tl::expected<Verification, std::string> verify(const Variant& candidate,
                                               const CompiledVariants& compiled,
                                               NativeWorker& worker, const TimerOptions& options) {
  std::string eager_key = make_eager(candidate).key;
  if (auto failed = compiled.failures.find(eager_key); failed != compiled.failures.end()) {
    return Verification{Code::kEagerFailed, failed->second.message};
  }
  if (auto failed = compiled.failures.find(candidate.key); failed != compiled.failures.end()) {
    return Verification{Code::kVerifierDidntRun, failed->second.message};
  }
  const auto limit = timeout_of(time_limit(candidate, options.config));
  wire::Message request = make_request(candidate, options, limit);
  std::set<std::filesystem::path> units;
  add_verification(request, units, candidate, compiled);
  if (units.empty()) return Verification{Code::kVerifierDidntRun, "it was not compiled"};
  TRY_ASSIGN(auto reply, worker.ask(units, request, limit));
  const auto kind = failure_kind_from(reply.get("kind"));
  if (reply.verb == "failed" && kind == FailureKind::kWorkerLost)
    return tl::unexpected(reply.get("message"));
  return judge(reply, candidate);
}

Expected<bool> verify_all(const std::vector<Variant>& candidates, const NativeLanguage& language,
                          const TimerOptions& options, const MeasureEvents& events,
                          std::stop_token stop) {
  const auto compiled = compile_with_eager(candidates, Purpose::kVerify, language, stop);
  if (stop.stop_requested()) return false;
  TRY(compiled);
  return language.measure_each(candidates, events, stop, [&](const Variant& candidate) {
    auto verified = verify(candidate, *compiled, language.worker, options);
    if (!verified) verified = Verification{Code::kVerifierDidntRun, verified.error()};
    Counted counted;
    counted.steady = true;
    return Measurement{candidate, std::move(counted), 0, *std::move(verified)};
  });
}

}  // namespace instr
