#include "core/compare/expected_values.h"
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
  return value_of(
      compare({"e.csv", counts.baseline, {}}, after(std::move(now)), {.by_key = counts.limits}));
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

// As in benchmarks/dynamo/pr_time_benchmarks/expected_results.csv.
TEST(ExpectedCounts, ReadsPytorchsForm) {
  std::vector<Variant> variants(4);
  variants[0].label = "add_loop_eager";
  variants[0].key = "add_loop_eager/py/eager/forward/t1/cpu";
  for (int i : {1, 2}) {  // a label of two variants is not a name
    variants[i].label = "both";
    variants[i].key = "both/" + std::to_string(i);
  }
  variants[3].label = variants[3].key = "a/b";
  const ExpectedCounts counts = value_of(parse_expected_counts(
      SourceText("e.csv",
                 "\n# refreshed in July\nadd_loop_eager,compile_time_instruction_count,3862000000,"
                 "0.1\n\n\n\nboth,instruction_count,7,0.2\n\n\n\na/b,instruction_count,9,0\n"),
      variants));
  EXPECT_EQ(metrics(counts, variants[0].key),
            (std::map<std::string, double>{{"compile_instructions", 3862000000}}));
  EXPECT_EQ(metrics(counts, "both"), (std::map<std::string, double>{{"instructions", 7}}));
  EXPECT_EQ(counts.limits.at(variants[0].key).hard.at("compile_instructions"),
            (Limit{10, std::nullopt}));
  EXPECT_EQ(counts.limits.at("a/b").hard.at("instructions"), (Limit{0, std::nullopt}));
}

TEST(ExpectedCounts, MistakesInPytorchsFormHaveTheirPlace) {
  EXPECT_EQ(
      errors("a,instruction_count,5,0.1\nb,wall,6,0.1\na,instruction_count,7,0.1\n"
             "c,instruction_count,x,10%\n"),
      "e.csv:2:3: unknown metric `wall`: in this form it is compile_time_instruction_count or "
      "instruction_count\n"
      "e.csv:3:1: `a` has two counts of `instructions`; the first is on line 1: remove one of "
      "them\n"
      "e.csv:4:21: `x` is not a count: write a number of 0 or more, such as `12345` or `12.5`\n"
      "e.csv:4:23: `10%` is not a margin: write a part of the count, such as `0.1` for 10%\n");
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
