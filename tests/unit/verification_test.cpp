// Verification through all the pure stages: from a worker's reply to a verdict, results and
// reports; and the code generated for it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/measure/verifier.h"
#include "core/report/run_report.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"
#include "tests/golden.h"
#include "tests/testing.h"
#include "worker/wire.h"

namespace instr::verification_test {
namespace {

using namespace testing;

using Code = VerificationCode;
using Fields = std::map<std::string, std::string>;

// A tensor in the worker's reply: correct, except for `changed`.
wire::Message item(const Fields& changed = {}) {
  wire::Message message{"item",
                        {{"name", ""},
                         {"eager_type", "Float"},
                         {"eager_shape", "[3, 2]"},
                         {"eager_device", "cpu"},
                         {"type", "Float"},
                         {"shape", "[3, 2]"},
                         {"device", "cpu"},
                         {"exceeds", "0"},
                         {"difference", "0"},
                         {"allowed", "1e-05"},
                         {"at", "[2, 1]"},
                         {"value", "1"},
                         {"eager_value", "1"},
                         {"cosine", "1"}}};
  for (const auto& [name, value] : changed) message.fields[name] = value;
  return message;
}

Verification verdict(const std::vector<wire::Message>& items, const Tolerance& tolerance = {}) {
  wire::Message reply{"compared", {}};
  for (std::size_t i = 0; i < items.size(); ++i) {
    reply.fields[std::to_string(i)] = wire::encode(items[i]);
  }
  // As received from the worker.
  std::string line = wire::encode(reply);
  line.pop_back();
  return judge(wire::decode(line).value(), tolerance);
}

Verification verdict(const Fields& changed, const Tolerance& tolerance = {}) {
  return verdict(std::vector{item(changed)}, tolerance);
}

Verification pass(const std::string& reason) { return {Code::kPass, reason}; }
Verification wrong(const std::string& reason) { return {Code::kFail, reason}; }

TEST(Verdict, ReportsTheDifference) {
  EXPECT_EQ(verdict(Fields{}), pass("equal"));
  EXPECT_EQ(verdict({{"difference", "1.1920929e-07"}}), pass("largest difference 1.19e-07"));
  EXPECT_EQ(verdict({{"exceeds", "1"}, {"difference", "0.31"}, {"allowed", "1.3e-06"}}),
            wrong("largest difference 0.31 at [2, 1], allowed 1.3e-06"));
  EXPECT_EQ(
      verdict({{"exceeds", "1"}, {"difference", "inf"}, {"value", "nan"}, {"eager_value", "1.5"}}),
      wrong("NaN at [2, 1] where eager has 1.5"));
  EXPECT_EQ(
      verdict({{"exceeds", "1"}, {"difference", "inf"}, {"value", "1"}, {"eager_value", "-inf"}}),
      wrong("1 at [2, 1] where eager has -inf"));
}

TEST(Verdict, ADifferentKindOfTensorFails) {
  EXPECT_EQ(verdict({{"shape", "[2, 3]"}}), wrong("shape [2, 3], eager's is [3, 2]"));
  EXPECT_EQ(verdict({{"type", "Double"}}), wrong("data type Double, eager's is Float"));
  EXPECT_EQ(verdict({{"device", "cuda:0"}}), wrong("device cuda:0, eager's is cpu"));
  EXPECT_EQ(verdict({{"otherwise", "a tuple, not a tensor"}}), wrong("a tuple, not a tensor"));
}

TEST(Verdict, JudgesAllTensors) {
  Fields gradient{{"name", "gradient of x"}, {"difference", "2e-06"}};
  EXPECT_EQ(verdict(std::vector{item(), item(gradient)}),
            pass("gradient of x: largest difference 2e-06"));
  EXPECT_EQ(verdict(std::vector{item({{"difference", "3e-06"}}), item(gradient)}),
            pass("largest difference 3e-06"));
  gradient["shape"] = "[]";
  EXPECT_EQ(verdict(std::vector{item(), item(gradient)}),
            wrong("gradient of x: shape [], eager's is [3, 2]"));
  // A gradient that both lack.
  wire::Message absent{"item", {{"name", "gradient of w"}}};
  EXPECT_EQ(verdict(std::vector{item(), absent}), pass("equal"));
}

TEST(Verdict, TheReferenceDecidesIfPresent) {
  Fields inexact{{"exceeds", "1"},
                 {"difference", "0.5"},
                 {"eager_reference_error", "0.25"},
                 {"reference_error", "0.5"},
                 {"atol", "0"}};
  EXPECT_EQ(verdict(inexact), pass("error against a float64 reference 0.5, eager's is 0.25"));
  inexact["reference_error"] = "0.501";
  EXPECT_EQ(verdict(inexact).code, Code::kFail);
  inexact["atol"] = "0.001";
  EXPECT_EQ(verdict(inexact).code, Code::kPass);
  // An inaccurate eager result does not excuse the candidate.
  inexact["eager_reference_error"] = "inf";
  EXPECT_EQ(verdict(inexact).code, Code::kFail);
  // Nor does it excuse an infinite error.
  inexact["reference_error"] = "inf";
  EXPECT_EQ(verdict(inexact).code, Code::kFail);
}

TEST(Verdict, TheMeanSquareDecidesOnRequest) {
  const Tolerance tolerance{{}, {}, {}, 1e-4};
  Fields inexact{{"exceeds", "1"},
                 {"difference", "9"},
                 {"reference_error", "9"},
                 {"atol", "0"},
                 {"eager_reference_error", "1"},
                 {"eager_reference_rmse", "0.25"},
                 {"reference_rmse", "0.5"},
                 {"count", "1000"}};
  EXPECT_EQ(verdict(inexact, tolerance),
            pass("RMSE against a float64 reference 0.5, eager's is 0.25, allowed 2 times"));
  inexact["reference_rmse"] = "0.5000101";
  EXPECT_EQ(verdict(inexact, tolerance).code, Code::kFail);
  // A tenth of the tolerance more.
  inexact["reference_rmse"] = "0.5000099";
  EXPECT_EQ(verdict(inexact, tolerance).code, Code::kPass);
  // 3 times, for noisy tensors.
  inexact["reference_rmse"] = "0.75";
  EXPECT_EQ(verdict(inexact, tolerance).code, Code::kFail);
  const auto with = [&inexact](const Fields& changed) {
    Fields all = inexact;
    for (const auto& [name, value] : changed) all[name] = value;
    return all;
  };
  for (const Fields& noisy : {Fields{{"count", "999"}},
                              {{"type", "BFloat16"}, {"eager_type", "BFloat16"}},
                              {{"shape", "[3, 2, 1, 1]"}, {"eager_shape", "[3, 2, 1, 1]"}}}) {
    EXPECT_EQ(verdict(with(noisy), tolerance).code, Code::kPass) << noisy.begin()->first;
  }
  EXPECT_EQ(verdict(inexact, {{}, {}, {}, 0.02}).code, Code::kPass);
  EXPECT_EQ(verdict(with({{"reference_rmse", "nan"}}), tolerance).code, Code::kFail);
  EXPECT_EQ(
      verdict(with({{"reference_rmse", "nan"}, {"eager_reference_rmse", "nan"}}), tolerance).code,
      Code::kFail);
  const Verification all_nan = verdict(with({{"exceeds", "0"}, {"all_nan", "1"}}), tolerance);
  EXPECT_EQ(all_nan.code, Code::kVerifierSkipped);
  EXPECT_HAS(all_nan.reason, "all values are NaN, eager's as well");
  Variant variant;
  variant.tolerance = tolerance;
  EXPECT_EQ(allowed_differences(variant).substr(0, 18), "Half 0.0001 0.0001");
}

TEST(Verdict, CosineReplacesTheToleranceForInexactTypes) {
  const Tolerance tolerance{{}, {}, 0.99};
  EXPECT_EQ(verdict({{"exceeds", "1"}, {"cosine", "0.99"}}, tolerance),
            pass("cosine similarity 0.99"));
  EXPECT_EQ(verdict({{"exceeds", "0"}, {"cosine", "0.98"}}, tolerance),
            wrong("cosine similarity 0.98, at least 0.99 is required"));
  EXPECT_EQ(verdict({{"cosine", "nan"}}, tolerance).code, Code::kFail);
  EXPECT_EQ(verdict({{"exceeds", "1"}, {"type", "Long"}, {"eager_type", "Long"}}, tolerance).code,
            Code::kFail);
}

TEST(Verdict, EachKindOfReplyHasACode) {
  auto of = [](const wire::Message& reply) { return judge(reply, Tolerance{}); };
  EXPECT_EQ(of({"raised", {{"by", "eager"}, {"message", "no"}}}),
            (Verification{Code::kEagerFailed, "no"}));
  EXPECT_EQ(of({"raised",
                {{"by", "candidate"},
                 {"message",
                  "The following operation failed in the TorchScript interpreter.\n"
                  "Traceback of TorchScript\n    y = x\nRuntimeError: no\n"}}}),
            (Verification{Code::kExceptionRaised, "RuntimeError: no"}));
  EXPECT_EQ(of({"raised",
                {{"by", "candidate"},
                 {"message",
                  "The following operation failed in the TorchScript interpreter.\n"
                  "Traceback of TorchScript\n    y = x\nRuntimeError: CUDA error: no\n"
                  "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"}}}),
            (Verification{Code::kExceptionRaised, "RuntimeError: CUDA error: no"}));
  EXPECT_EQ(of({"nondeterministic", {{"name", ""}}}),
            (Verification{Code::kNondeterministicEagerRun,
                          "the output differs between two runs of eager"}));
  EXPECT_EQ(of({"nothing", {{"message", "not a tensor"}}}).code, Code::kVerifierSkipped);
  EXPECT_EQ(of({"failed", {{"kind", "unsupported"}, {"message", "no CUDA"}}}),
            (Verification{Code::kVerifierSkipped, "no CUDA"}));
  EXPECT_EQ(of({"failed", {{"kind", "crashed"}, {"message", "SIGSEGV"}, {"stage", "eager"}}}),
            (Verification{Code::kVerifierDidntRun, "in the eager run: SIGSEGV"}));
  EXPECT_EQ(of({"gibberish", {}}).code, Code::kVerifierDidntRun);
  EXPECT_EQ(of({"compared", {}}).code, Code::kVerifierDidntRun);
  EXPECT_TRUE(of({"compared", {}}).is_wrong());
}

TEST(VerificationVerdict, AnIncompleteReplyDoesNotPass) {
  const std::string whole = wire::encode(item({}));
  auto of = [](const std::string& line) {
    return judge({"compared", {{"0", line}}}, Tolerance{}).code;
  };
  EXPECT_EQ(of(whole), Code::kPass);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(of(whole.substr(0, size)), Code::kVerifierDidntRun) << size;
    EXPECT_FALSE(wire::decode_line(whole.substr(0, size))) << size;
  }
  EXPECT_EQ(wire::decode_line(whole)->fields, item({}).fields);
}

// Parses "Float 1.3e-06 1e-05" as the worker does.
std::map<std::string, std::pair<double, double>> allowed(
    const Tolerance& tolerance, const std::string& key = "a/inductor/forward/t1/cpu") {
  Variant variant = parse_key(key);
  variant.tolerance = tolerance;
  std::istringstream text(allowed_differences(variant));
  std::map<std::string, std::pair<double, double>> all;
  std::pair<double, double> limits;
  for (std::string type; text >> type >> limits.first >> limits.second;) all[type] = limits;
  return all;
}

TEST(AllowedDifferences, AreTheDataTypesDefaultsUnlessSet) {
  auto usual = allowed({});
  EXPECT_EQ(usual.at("Double"), std::pair(1e-7, 1e-7));
  EXPECT_EQ(usual.at("Float"), std::pair(1.3e-6, 1e-5));
  EXPECT_EQ(usual.at("BFloat16"), std::pair(1.6e-2, 1e-5));
  EXPECT_EQ(usual.at("Half"), std::pair(1e-3, 1e-5));
  EXPECT_FALSE(usual.contains("Long"));
  EXPECT_EQ(allowed({0.5, {}, {}}).at("Float"), std::pair(0.5, 1e-5));
  EXPECT_EQ(allowed({{}, 0.0, {}}).at("Half"), std::pair(1e-3, 0.0));
}

TEST(AllowedDifferences, OfFloat32UnderAutocastAreThoseOfTheTypeItComputesIn) {
  auto on_cpu = allowed({}, "a/dtype=amp/inductor/forward/t1/cpu");
  EXPECT_EQ(on_cpu.at("Float"), std::pair(1.6e-2, 1e-5));
  EXPECT_EQ(on_cpu.at("Double"), std::pair(1e-7, 1e-7));
  EXPECT_EQ(allowed({}, "a/dtype=amp/inductor/forward/t1/cuda").at("Float"), std::pair(1e-3, 1e-5));
  EXPECT_EQ(allowed({0.5, {}, {}}, "a/dtype=amp/inductor/forward/t1/cpu").at("Float"),
            std::pair(0.5, 1e-5));
  auto too_tight = allowed({1e-3, 1e-4, {}}, "a/dtype=amp/inductor/forward/t1/cpu");
  EXPECT_EQ(too_tight.at("Float"), std::pair(1.6e-2, 1e-4));
  EXPECT_EQ(too_tight.at("BFloat16"), std::pair(1.6e-2, 1e-4));
  EXPECT_EQ(too_tight.at("Double"), std::pair(1e-3, 1e-4));
}

TEST(EagerOf, HasTheKeyOfTheSameBenchmark) {
  Variant script = parse_key("a/torchscript/forward/n=1/torchscript/forward_backward/t2/cpu");
  EXPECT_TRUE(is_candidate(script));
  Variant eager = make_eager(script);
  EXPECT_EQ(eager.key, "a/torchscript/forward/n=1/eager/forward_backward/t2/cpu");
  EXPECT_FALSE(is_candidate(eager));
}

// --- Generated code ---

Variant script() {
  Variant variant;
  variant.setups = {Text{"auto x = torch::ones({4});", {"a.toml", 4, 10}}};
  variant.stmt = Text{"auto y = x + x;", {"a.toml", 5, 9}};
  variant.backend = Backend::kTorchScript;
  variant.torchscript = Text{"y = x + x", {"a.toml", 6, 16}};
  variant.signature = Signature{{"x", "w"}, "y", {"a.toml", 7, 14}};
  return variant;
}

TEST(VerifiedUnit, HasAnotherSymbolThatNamesTheOutput) {
  Variant eager = make_eager(script());
  std::string symbol = make_snippet_symbol(eager, Purpose::kVerify);
  EXPECT_TRUE(symbol.starts_with("instr_verify_"));
  Variant other = eager;
  other.signature->output = "z";
  // The code is the same for measuring, and differs for comparing.
  EXPECT_EQ(make_snippet_symbol(other), make_snippet_symbol(eager));
  EXPECT_NE(make_snippet_symbol(other, Purpose::kVerify), symbol);
}

// --- Results and reports ---

Measurement verified(const std::string& key, const Verification& verification) {
  return testing::verified(measured(key, Counted{}), verification.code, verification.reason);
}

Measurement timed(const std::string& key, double wall) {
  return testing::timed(key, {wall, wall * 1.01, wall * 0.99, wall});
}

const std::string kEager = "a/x/eager/forward/t1/cpu";
const std::string kScript = "a/x/torchscript/forward/t1/cpu";

TEST(VerifiedResults, RoundTrip) {
  const Verification hostile{Code::kFail, "a \"quote\", a | and a\nline \xC3\xA9"};
  std::string bytes = to_line(to_json(make_results_header({}, {}))) + "\n" +
                      to_line(to_json(timed(kScript, 3))) + "\n" +
                      to_line(to_json(verified(kScript, hostile))) + "\n" +
                      to_line(to_json(verified("alone", {Code::kPass, "equal"}))) + "\n";
  auto read = value_of(parse_results(bytes, "r", Incomplete::kAllowed));
  ASSERT_EQ(read.measurements.size(), 2u);
  EXPECT_EQ(read.measurements[0].verification, hostile);
  EXPECT_TRUE(std::get<Counted>(read.measurements[0].outcome).timing);
  EXPECT_EQ(to_json(read.measurements[0]).at("outcome"), "timed");
  EXPECT_EQ(to_json(read.measurements[1]).at("outcome"), "verified");
  EXPECT_EQ(to_json(read.measurements[1]).at("verification").at("code"), "PASS");
}

TEST(VerifiedResults, KeepAFailureToMeasure) {
  MeasurementList list;
  list.add(failed(kScript));
  list.add(verified(kScript, {Code::kExceptionRaised, "no"}));
  ASSERT_EQ(list.all().size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Failure>(list.all()[0].outcome));
  EXPECT_EQ(list.all()[0].verification->code, Code::kExceptionRaised);
}

ReportOptions wall_options() {
  const ReportOptions options{.metrics = {"wall"}, .seconds = 1};
  return options;
}

TEST(VerifiedReport, ACodeReplacesTheSpeedUp) {
  std::string text;
  for (const Code code :
       {Code::kPass, Code::kFail, Code::kEagerFailed, Code::kExceptionRaised,
        Code::kNondeterministicEagerRun, Code::kVerifierSkipped, Code::kVerifierDidntRun}) {
    Measurement script = timed(kScript, 1);
    script.verification = Verification{code, "because"};
    const auto lines =
        split_lines(report(ReportFormat::kTable, {timed(kEager, 4), script}, wall_options()));
    for (const std::string& line : lines) {
      if (line.starts_with("a/x") || line.find("verified") != line.npos) text += line + "\n";
    }
  }
  EXPECT_GOLDEN("report/times_with_each_verification_code.txt", text);
}

TEST(VerifiedReport, ACodeIsShownWithACountIfNothingWasTimed) {
  Measurement script = counted(kScript, {{"instructions", 100}});
  script.verification = Verification{Code::kFail, "because"};
  EXPECT_GOLDEN("report/count_with_a_wrong_result.txt", report(ReportFormat::kTable, {script}, {}));
  EXPECT_GOLDEN("report/count_with_a_wrong_result.md",
                report(ReportFormat::kMarkdown, {script}, {}));
  script.verification->code = Code::kPass;
  EXPECT_GOLDEN("report/count_with_an_equal_result.txt",
                report(ReportFormat::kTable, {script}, {}));
}

}  // namespace
}  // namespace instr::verification_test
