// --verify: each code, by a snippet on LibTorch. Failures do not affect other snippets, and counts
// are the same as without --verify.

#include "core/results/results_file.h"
#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::verify_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "Verify.*", "Verify.CountsAreTheSame*");

const std::string kForward = "/torchscript/forward/t1/cpu";
const std::string kBackward = "/torchscript/forward_backward/t1/cpu";

class Verify : public ::testing::Test {
 protected:
  // The results of a run that all tests share.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    result_ = new CommandResult(
        run({"--definitions=" + fixture("verify.toml").string(), "--metrics=wall",
             "--repetitions=4", "--min-time=0.001", "--verify", "--output=" + file()}));
    records_ = new Records(read_results(file()));
  }
  static void TearDownTestSuite() {
    delete records_;
    delete result_;
    delete folder_;
  }

  static std::string file() { return (folder_->path() / "r.jsonl").string(); }

  static std::string part(const std::string& key, const char* name) {
    auto found = records_->find(key);
    if (found == records_->end() || !found->second.contains("verification")) return "none";
    return found->second.at("verification").at(name).get<std::string>();
  }
  static std::string code(const std::string& key) { return part(key, "code"); }
  static std::string reason(const std::string& key) { return part(key, "reason"); }

  static inline TemporaryFolder* folder_ = nullptr;
  static inline CommandResult* result_ = nullptr;
  static inline Records* records_ = nullptr;
};

TEST_F(Verify, CorrectResultsPass) {
  for (const char* label :
       {"pass", "pass: of a module", "pass: random numbers", "pass: changes its input",
        "pass: NaN in both", "pass: sparse by columns", "pass: with a tolerance",
        "pass: after all that"}) {
    EXPECT_EQ(code(label + kForward), "PASS") << label << ": " << reason(label + kForward);
  }
  EXPECT_EQ(code("pass" + kBackward), "PASS") << reason("pass" + kBackward);
  EXPECT_EQ(code("pass: of a module" + kBackward), "PASS")
      << reason("pass: of a module" + kBackward);
  EXPECT_EQ(reason("pass: NaN in both" + kForward), "equal");
}

// A process can load such code only once.
TEST_F(Verify, CodeThatRegistersOperatorsIsTimedAndCompared) {
  for (const std::string label :
       {"pass: registers an operator", "pass: registers a library beside a directive"}) {
    EXPECT_EQ(code(label + kForward), "PASS") << label << ": " << reason(label + kForward);
  }
  for (const std::string& line : split_lines(result_->output)) {
    if (!line.starts_with("pass: registers")) continue;
    EXPECT_TRUE(line.find(" ns") != line.npos || line.find(" µs") != line.npos) << line;
    EXPECT_EQ(line.find("failed"), line.npos) << line;
  }
}

TEST_F(Verify, ADoublePrecisionReferenceDecidesIfEagerIsInexact) {
  const std::string key = "pass: by the reference" + kForward;
  EXPECT_EQ(code(key), "PASS") << reason(key);
  EXPECT_EQ(reason(key).find("error against a float64 reference"), 0u) << reason(key);
  EXPECT_EQ(code("fail: by the reference" + kForward), "FAIL");
  EXPECT_EQ(code("fail: without a reference" + kForward), "FAIL");
  EXPECT_EQ(reason("fail: without a reference" + kForward).find("reference"), std::string::npos);
}

TEST_F(Verify, CosineSimilarityIsUsedOnRequest) {
  EXPECT_EQ(code("pass: by cosine" + kForward), "PASS");
  EXPECT_EQ(reason("pass: by cosine" + kForward).find("cosine similarity"), 0u);
  // (2, 2) and (-0.5, 0.5) are perpendicular.
  EXPECT_EQ(code("fail: by cosine" + kForward), "FAIL");
}

TEST_F(Verify, TheMeanSquareIsUsedOnRequest) {
  const std::string key = "pass: by the mean square" + kForward;
  EXPECT_EQ(code(key), "PASS") << reason(key);
  EXPECT_EQ(reason(key).find("RMSE against a float64 reference"), 0u) << reason(key);
  EXPECT_EQ(code("fail: by the mean square" + kForward), "FAIL");
}

TEST_F(Verify, ATracedModuleComputesTheSame) {
  for (const std::string& end : {kForward, kBackward}) {
    const std::string key = "pass: of a traced module" + end;
    EXPECT_EQ(code(key), "PASS") << reason(key);
  }
}

TEST_F(Verify, ADifferentResultFailsWithTheReason) {
  auto fails = [](const std::string& label, const std::string& why) {
    const std::string key = label + (label == "fail: gradient" ? kBackward : kForward);
    EXPECT_EQ(code(key), "FAIL") << key;
    EXPECT_EQ(reason(key).find(why), 0u) << reason(key);
  };
  fails("fail: other values", "largest difference 0.25 at [2, 1], allowed 1.26e-05");
  fails("fail: another integer", "largest difference 1 at [0], allowed 0");
  fails("fail: shape", "shape [2, 3], eager's is [3, 2]");
  fails("fail: data type", "data type Double, eager's is Float");
  fails("fail: tuple", "a tuple, not a tensor");
  EXPECT_EQ(code("fail: NaN" + kForward), "FAIL");
  EXPECT_EQ(reason("fail: NaN" + kForward), "NaN at [0] where eager has 1.5");
  EXPECT_EQ(reason("fail: NaN of eager alone" + kForward), "1.5 at [0] where eager has NaN");
  fails("fail: beside NaN", "largest difference 100");
  fails("fail: gradient", "gradient of w: largest difference");
  // Its output is correct.
  EXPECT_EQ(code("fail: gradient" + kForward), "PASS");
}

TEST_F(Verify, UncomparedVariantsHaveTheirOwnCode) {
  EXPECT_EQ(code("eager: throws" + kForward), "EAGER_FAILED");
  EXPECT_HAS(reason("eager: throws" + kForward), "cannot be multiplied");
  EXPECT_EQ(code("raised: by the script" + kForward), "EXCEPTION_RAISED");
  EXPECT_EQ(reason("raised: by the script" + kForward)
                .find(fixture("verify.toml").string() + ":167:20: RuntimeError: mat1"),
            0u)
      << reason("raised: by the script" + kForward);
  EXPECT_EQ(code("nondeterministic" + kForward), "NONDETERMINISTIC_EAGER_RUN");
  EXPECT_EQ(code("skipped: no such output" + kForward), "VERIFIER_SKIPPED");
  EXPECT_EQ(code("skipped: no tensor" + kForward), "VERIFIER_SKIPPED");
  EXPECT_EQ(code("skipped: NaN everywhere" + kForward), "VERIFIER_SKIPPED");
  EXPECT_HAS(reason("skipped: NaN everywhere" + kForward), "all values are NaN");
  EXPECT_EQ(code("skipped: nested" + kForward), "VERIFIER_SKIPPED");
  EXPECT_HAS(reason("skipped: nested" + kForward), "nested tensors are not compared");
  EXPECT_EQ(code("lost: crashes" + kForward), "VERIFIER_DIDNT_RUN");
  EXPECT_HAS(reason("lost: crashes" + kForward), "SIGSEGV");
  EXPECT_EQ(code("lost: hangs" + kForward), "VERIFIER_DIDNT_RUN");
  EXPECT_EQ(reason("lost: hangs" + kForward).find("stopped after 3 s of CPU time: raise "), 0u);
  EXPECT_EQ(code("lost: eager hangs" + kForward), "VERIFIER_DIDNT_RUN");
  EXPECT_EQ(reason("lost: eager hangs" + kForward)
                .find("in the eager run: stopped after being idle for 2 s: raise "),
            0u);
  EXPECT_TRUE(stray_processes().empty());
}

TEST_F(Verify, EagerItselfIsNotACandidate) {
  for (const auto& [key, record] : *records_) {
    bool is_eager = record.at("backend") == "eager";
    EXPECT_EQ(record.contains("verification"), !is_eager) << key;
  }
}

TEST_F(Verify, AWrongResultIsNotASpeedUp) {
  EXPECT_EQ(result_->exit_code, 1) << result_->errors;
  std::size_t seen = 0;
  for (const std::string& line : split_lines(result_->output)) {
    bool is_wrong = line.starts_with("fail: other values") && line.find("µs") != std::string::npos;
    if (!is_wrong) continue;
    ++seen;
    EXPECT_TRUE(line.ends_with("  FAIL")) << line;
    EXPECT_EQ(line.find("(p="), std::string::npos) << line;
  }
  EXPECT_EQ(seen, 1u) << result_->output;
}

TEST_F(Verify, CountsAreTheSameAndOnlyFailuresFailTheRun) {
  auto counted = [](const std::string& filter, std::vector<std::string> more) {
    const std::string output = (folder_->path() / "counts.jsonl").string();
    std::vector<std::string> options{"--definitions=" + fixture("verify.toml").string(),
                                     "--filter=" + filter, "--output=" + output,
                                     "--metrics=instructions"};
    options.insert(options.end(), more.begin(), more.end());
    expect_status(0, run(std::move(options)));
    std::map<std::string, Measurement> by_key;
    auto results = instr::read_results(output);
    for (const auto& one : results->measurements) by_key[one.variant.key] = one;
    return by_key;
  };
  const std::string filter = "^pass/|^skipped: no such";
  auto plain = counted(filter, {});
  auto verified = counted(filter, {"--verify"});
  ASSERT_EQ(plain.size(), 6u);
  ASSERT_EQ(verified.size(), plain.size());
  for (const auto& [key, one] : plain) {
    const Measurement& other = verified.at(key);
    EXPECT_EQ(std::get<Counted>(one.outcome).metrics, std::get<Counted>(other.outcome).metrics);
    EXPECT_FALSE(one.verification);
    EXPECT_EQ(other.verification.has_value(), other.variant.backend != Backend::kEager) << key;
  }
}

}  // namespace
}  // namespace instr::e2e::verify_test
