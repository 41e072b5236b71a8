#include "core/compare/expected_counts.h"

#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::expected_counts_test {
namespace {

using namespace testing;

constexpr const char* kMm = "matmul/mm/n=64/eager/forward/t1/cpu";
// Keys with quotes, commas, newlines, a pipe, a #, control characters and non-ASCII text.
const std::string kOdd = "# a \"b\",|c\r\n\t\\d\x01/größe/矩阵/eager/forward/t1/cpu";

ExpectedCounts parsed(const std::string& text) {
  return value_of(parse_expected_counts(SourceText("e.csv", text)));
}

std::string errors(const std::string& text, const std::string& name = "e.csv") {
  const auto counts = parse_expected_counts(SourceText(name, text));
  return counts ? "" : error_lines(counts.error());
}

std::map<std::string, double> metrics(const ExpectedCounts& counts, const std::string& key) {
  for (const Measurement& measurement : counts.baseline.measurements) {
    if (measurement.variant.key == key) return std::get<Counted>(measurement.outcome).metrics;
  }
  return {};
}

const Comparison compared(const ExpectedCounts& counts, std::vector<Measurement> now) {
  CompareOptions options;
  options.by_key = counts.limits;
  return value_of(compare({"e.csv", counts.baseline, {}}, after(std::move(now)), options));
}

TEST(ExpectedCounts, ReadsCsv) {
  const ExpectedCounts counts = parsed(
      "# counted on the build machine\n"
      "key,metric,expected,margin\n"
      "\n"
      "matmul/mm/n=64/eager/forward/t1/cpu,instructions,12345,0.5%|+10\r\n"
      "# of the output\n"
      "matmul/mm/n=64/eager/forward/t1/cpu, allocs , 2 ,\n"
      "\"# a \"\"b\"\",|c\r\n\t\\d\x01/größe/矩阵/eager/forward/t1/cpu\","
      "\"instructions\",\"1.5e3\",\"+0\"\n"
      "k,peak_bytes,0,none");
  ASSERT_EQ(counts.baseline.measurements.size(), 3u);
  EXPECT_EQ(metrics(counts, kMm),
            (std::map<std::string, double>{{"instructions", 12345}, {"allocs", 2}}));
  EXPECT_EQ(metrics(counts, kOdd), (std::map<std::string, double>{{"instructions", 1500}}));
  EXPECT_EQ(metrics(counts, "k"), (std::map<std::string, double>{{"peak_bytes", 0}}));
  EXPECT_EQ(counts.limits.at(kMm).hard.at("instructions"), (Limit{0.5, 10}));
  EXPECT_EQ(counts.limits.at(kOdd).hard.at("instructions"), (Limit{std::nullopt, 0}));
}

// Our own writer and spreadsheets mark text that looks like a formula in this way.
TEST(ExpectedCounts, AnApostropheMarksText) {
  const ExpectedCounts counts =
      parsed("key,metric,expected,margin\n'=1+1,instructions,5,'+10\n'plain,instructions,6,+1\n");
  EXPECT_EQ(metrics(counts, "=1+1"), (std::map<std::string, double>{{"instructions", 5}}));
  EXPECT_EQ(counts.limits.at("=1+1").hard.at("instructions"), (Limit{std::nullopt, 10}));
  EXPECT_EQ(metrics(counts, "'plain"), (std::map<std::string, double>{{"instructions", 6}}));
}

TEST(ExpectedCounts, AreSteadyAndHaveTheVariant) {
  const ExpectedCounts counts = parsed(
      "key,metric,expected\na/n=1/torchscript/forward_backward/t12/cuda,instructions,5\nodd/tx/"
      "cpu,instructions,1\n");
  const Measurement& measurement = counts.baseline.measurements.at(0);
  EXPECT_EQ(measurement.variant.label, "a");
  EXPECT_EQ(measurement.variant.params, (decltype(measurement.variant.params){{"n", "1"}}));
  EXPECT_EQ(measurement.variant.backend, Backend::kTorchScript);
  EXPECT_EQ(measurement.variant.autograd, Autograd::kForwardBackward);
  EXPECT_EQ(measurement.variant.threads, 12);
  EXPECT_EQ(measurement.variant.device, "cuda");
  const auto& counted = std::get<Counted>(measurement.outcome);
  EXPECT_TRUE(counted.steady);
  EXPECT_EQ(counted.first_block_instructions, 5);
  EXPECT_EQ(counted.second_block_instructions, 5);
  EXPECT_EQ(counts.baseline.measurements.at(1).variant.label, "odd/tx/cpu");
}

// A margin is the only limit, without a margin the usual limits apply, and unexpected metrics are
// ignored.
TEST(ExpectedCounts, DecideTheVerdictOfAComparison) {
  const ExpectedCounts counts = parsed(
      "key,metric,expected,margin\n"
      "wide,instructions,1000,5%\nusual,instructions,1000,\nexact,instructions,1000,0%\n");
  const auto verdict = [&](const std::string& key, double ir) {
    const Comparison comparison = compared(counts, {counted(key, ir)});
    for (const ComparedRow& row : comparison.rows) {
      if (row.key == key) return row.verdict;
    }
    return Verdict::kFails;
  };
  EXPECT_EQ(verdict("wide", 1050), Verdict::kPasses);
  EXPECT_EQ(verdict("wide", 1051), Verdict::kFails);
  EXPECT_EQ(verdict("wide", 949), Verdict::kGain);
  EXPECT_EQ(verdict("usual", 1001), Verdict::kPasses);
  EXPECT_EQ(verdict("usual", 1003), Verdict::kWarns);
  EXPECT_EQ(verdict("usual", 1006), Verdict::kFails);
  EXPECT_EQ(verdict("exact", 1000), Verdict::kPasses);
  EXPECT_EQ(verdict("exact", 1001), Verdict::kFails);
  EXPECT_EQ(verdict("exact", 999), Verdict::kGain);
}

TEST(ExpectedCounts, ReportAllErrorsOfACsv) {
  EXPECT_GOLDEN("expected/errors_of_counts.txt", errors("key,metric,expected,margin\n"
                                                        "a,ir\n"
                                                        "a,irr,5,\n"
                                                        "é,instructions,-5,1%\n"
                                                        "a,instructions,nan,1\n"
                                                        "a,allocs,12a,\n"
                                                        "a,allocs,,\n"
                                                        ",allocs,1,\n"
                                                        "a,instructions,1,,\n"
                                                        "a,instructions,1,\n"
                                                        "a,instructions,2,\n"
                                                        "a\"b,instructions,1,\n"
                                                        "\"a\" ,instructions,1,\n"
                                                        "a,instructions,inf,\n"
                                                        "a,instructions,1e999,\n"
                                                        "a,instructions,1,\"\n"));
}

TEST(ExpectedCounts, ReportMissingColumns) {
  EXPECT_EQ(errors("key,metric\na,ir\n"),
            "e.csv:1:11: there is no column `expected`: the first line is "
            "`key,metric,expected,margin`\n");
  EXPECT_EQ(errors("# x\nkey,expected,metric\na,5,ir\n"),
            "e.csv:2:5: column 2 is `expected` and not `metric`: the first line is "
            "`key,metric,expected,margin`\n");
  EXPECT_EQ(
      errors("key,metric,expected,margin,by\n"),
      "e.csv:1:28: there is a column too many: the first line is `key,metric,expected,margin`\n");
  EXPECT_EQ(errors("matmul/mm,instructions,5\n"),
            "e.csv:1:1: column 1 is `matmul/mm` and not `key`: the first line is "
            "`key,metric,expected,margin`\n");
}

TEST(ExpectedCounts, RefuseFilesWithoutACount) {
  const std::string nothing =
      ": there is no expected count in this file: --update-expected writes those that are "
      "measured\n";
  for (const char* text : {"", "# nothing yet\n", "\n\n"}) {
    EXPECT_EQ(errors(text), "e.csv" + nothing);
  }
  EXPECT_EQ(errors("key,metric,expected,margin\n"), "e.csv" + nothing);
  EXPECT_EQ(
      errors("[a]\nir = 1\n", "e.toml"),
      "e.toml: expected counts must be in a CSV file: give the file a name that ends in .csv\n");
}

}  // namespace
}  // namespace instr::expected_counts_test
