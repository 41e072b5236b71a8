#include <sys/stat.h>

#include <limits>

#include "core/compare/expected_values.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::expected_update_test {
namespace {

using namespace testing;

const IsSelected kAll = [](const std::string&) { return true; };
const IsSelected kNone = [](const std::string&) { return false; };

SourceText csv(const std::string& text) { return SourceText("e.csv", text); }

// Returns the updated text, and checks that a second update changes nothing.
std::string updated(const std::string& text, const std::vector<Measurement>& measurements,
                    const IsSelected& is_selected = kAll) {
  const auto update = update_expected_counts(csv(text), measurements, is_selected);
  if (!update) return error_lines(update.error());
  const auto again = update_expected_counts(csv(update->text), measurements, is_selected);
  EXPECT_TRUE(again && again->text == update->text) << update->text;
  EXPECT_EQ(again ? again->changed + again->added + again->removed : 0, 0u);
  return update->text;
}

TEST(ExpectedUpdate, IsSortedAndKeepsCommentsAboveTheirLines) {
  const std::string text =
      "# of the build machine\r\n\r\nkey,metric,expected\n"
      "b , ir,1\n"
      "# of the output\r\n"
      "a,instructions, 1000.0 \r\n"
      "\"a\",\"allocs\",\"2\"\n"
      "  \n# last";
  EXPECT_GOLDEN("expected/updated.csv",
                updated(text, {counted("a", {{"instructions", 2000.5}, {"allocs", 31}}),
                               counted("b ", {{"instructions", 0}})}));
}

// As in benchmarks/dynamo/pr_time_benchmarks/expected_results.csv.
constexpr const char* kPytorchForm =
    "add_loop,compile_time_instruction_count,3862000000,0.1\n\n\n\n"
    "gone,instruction_count,58820,0.1\n\n\n\n"
    "view,instruction_count,67940,0.1\n\n\n\n"
    "k,instruction_count,5,0.2\n";

Measurement labelled(const std::string& label, const std::string& key,
                     const std::map<std::string, double>& metrics) {
  Measurement made = counted(key, metrics);
  made.variant.label = label;
  return made;
}

TEST(ExpectedUpdate, ChangesOnlyTheLinesOfPytorchsFormThatMoved) {
  EXPECT_EQ(updated(kPytorchForm,
                    {labelled("add_loop", "add_loop/py/eager/forward/t1/cpu",
                              {{"instructions", 4e9}, {"compile_instructions", 3862000000}}),
                     labelled("view", "view/py/eager/forward/t1/cpu", {{"instructions", 67000.4}}),
                     labelled("k", "k", {{"instructions", 5}}),
                     labelled("new", "new/eager/forward/t1/cpu", {{"instructions", 7}})}),
            "add_loop,compile_time_instruction_count,3862000000,0.1\n\n\n\n"
            "view,instruction_count,67000,0.1\n\n\n\n"
            "k,instruction_count,5,0.2\n"
            "\nnew/eager/forward/t1/cpu,instruction_count,7,0.005\n\n\n");
}

TEST(ExpectedUpdate, ReplacesTheFirstLineOfPytorchsForm) {
  EXPECT_EQ(updated("gone,instruction_count,5,0.1\n",
                    {labelled("new", "new/eager/forward/t1/cpu", {{"instructions", 7}})}),
            "\nnew/eager/forward/t1/cpu,instruction_count,7,0.005\n\n\n");
}

TEST(ExpectedUpdate, KeepsMargins) {
  EXPECT_EQ(updated("key,metric,expected,margin\na,instructions,1, 0.50%|+10 "
                    "\nb,instructions,1,'+2\nc,instructions,1,none\n",
                    {counted("a", {{"instructions", 2}}), counted("b", {{"instructions", 2}}),
                     counted("c", 1)}),
            "key,metric,expected,margin\na,instructions,2,0.5%|+10\nb,instructions,2,+2\nc,"
            "instructions,1,none\n");
}

TEST(ExpectedUpdate, KeepsNumbersThatWereNotMeasured) {
  const std::string text =
      "key,metric,expected\na,instructions,1\na,allocs,1\nb,instructions,1\nc,instructions,1\nd,"
      "instructions,1\ne,instructions,1\n"
      "f,instructions,1\ng,instructions,1\n";
  Measurement threads = counted("e", {{"instructions", 9}});
  std::get<Counted>(threads.outcome).gated = false;
  EXPECT_EQ(
      updated(text, {counted("a", {{"instructions", 2}}), failed("b"), skipped("c"),
                     unsteady("d", 8, 9), threads, counted("f", {{"instructions", -3}}),
                     counted("g", {{"instructions", std::numeric_limits<double>::quiet_NaN()}})}),
      "key,metric,expected,margin\na,allocs,1,\na,instructions,2,\nb,instructions,1,\nc,"
      "instructions,1,\nd,instructions,1,\n"
      "e,instructions,1,\nf,instructions,1,\ng,instructions,1,\n");
}

TEST(ExpectedUpdate, AddsNewKeys) {
  const std::vector<Measurement> now{
      counted("new", {{"instructions", 5}, {"allocs", 1}, {"other", 3}}),
      counted("# q\",\n", {{"instructions", 6.5}}), failed("bad"), unsteady("shaky", 1, 2),
      counted("none", {{"allocs", 3}})};
  EXPECT_EQ(updated("key,metric,expected,margin\na,instructions,1,", now, kNone),
            "key,metric,expected,margin\n\"# "
            "q\"\",\n\",instructions,6.5,\na,instructions,1,\nnew,instructions,5,\n");
}

TEST(ExpectedUpdate, WritesAnEmptyFile) {
  const std::vector<Measurement> now{
      counted("a", {{"peak_bytes", 64}, {"instructions", 5}, {"allocs", 1}}),
      counted("b", {{"instructions", 6}})};
  EXPECT_EQ(updated("", now),
            "key,metric,expected,margin\na,allocs,1,\na,instructions,5,\na,peak_bytes,64,\nb,"
            "instructions,6,\n");
  EXPECT_EQ(updated("# mine\n", {now[1]}),
            "# mine\nkey,metric,expected,margin\nb,instructions,6,\n");
}

TEST(ExpectedUpdate, RemovesMissingKeysWithTheirComments) {
  const auto starts_with_a = [](const std::string& key) { return key.starts_with('a'); };
  const std::string text =
      "key,metric,expected,margin\n# "
      "first\na0,instructions,1,\na1,instructions,1,\n\"a\n2\",instructions,1,\n# "
      "b\nb,instructions,1,\n";
  EXPECT_EQ(updated(text, {counted("a1", {{"instructions", 1}})}, starts_with_a),
            "key,metric,expected,margin\na1,instructions,1,\n# b\nb,instructions,1,\n");
  EXPECT_EQ(updated("key,metric,expected\na,instructions,1\n", {}), "key,metric,expected,margin\n");
  // A new key gets the metrics of the removed keys.
  EXPECT_EQ(updated("key,metric,expected\na,instructions,1\n",
                    {counted("c", {{"instructions", 5}, {"allocs", 1}})}),
            "key,metric,expected,margin\nc,instructions,5,\n");
}

TEST(ExpectedUpdate, CountsItsChanges) {
  const auto update = value_of(update_expected_counts(
      csv("key,metric,expected\na,instructions,1\na,allocs,1\nb,instructions,1\nb,allocs,1\n"),
      {counted("a", {{"instructions", 2}, {"allocs", 2}}),
       counted("c", {{"instructions", 2}, {"allocs", 2}})},
      kAll));
  EXPECT_EQ(update.changed, 2u);
  EXPECT_EQ(update.added, 1u);
  EXPECT_EQ(update.removed, 1u);
}

TEST(ExpectedUpdate, WritesNumbersThatReadTheSame) {
  for (const double value :
       {0.0, -0.0, 0.1, 1.0 / 3, 1e15, 123456789012345678.0, 1e22, 1e300, 5e-324}) {
    const auto counts =
        parse_expected_counts(csv(updated("", {counted("k", {{"instructions", value}})})));
    ASSERT_TRUE(counts) << value;
    const auto& outcome = counts->baseline.measurements.at(0).outcome;
    EXPECT_EQ(std::get<Counted>(outcome).metrics.at("instructions"), value);
  }
  EXPECT_EQ(updated("", {counted("k", {{"instructions", -0.0}})}),
            "key,metric,expected,margin\nk,instructions,0,\n");
}

TEST(ExpectedUpdate, EveryKeyReadsTheSame) {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  for (const std::string& key : {all, std::string("\"\""), std::string(" a "), std::string("\n"),
                                 std::string("#a"), std::string("矩阵,"), std::string("=1+1"),
                                 std::string("-5"), std::string("'@x"), std::string("key")}) {
    const auto text = updated("", {counted(key, {{"instructions", 1}})});
    const auto counts = value_of(parse_expected_counts(csv(text)));
    EXPECT_EQ(counts.baseline.measurements.at(0).variant.key, key);
  }
}

TEST(ExpectedUpdate, RefusesKeysThatCannotBeWritten) {
  EXPECT_EQ(updated("", {counted("a\xFF", {{"instructions", 1}})}),
            "e.csv: a new key cannot be written: a byte that is not valid UTF-8: this is a binary "
            "file, or text in another encoding: rename the benchmark\n");
  EXPECT_EQ(
      updated("key,metric,expected\na,instructions,x\n", {}),
      "e.csv:2:16: `x` is not a count: write a number of 0 or more, such as `12345` or `12.5`\n");
}

TEST(ExpectedUpdate, ReplacesTheFileInOneStep) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("e.csv", "key,metric,expected\na,instructions,1\n");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("e.csv", folder.path() / "link.csv");
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  // A file that needs no change is left alone.
  ASSERT_TRUE(update_expected_file(file, {counted("a", {{"instructions", 1}})}, kAll));
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  ASSERT_TRUE(update_expected_file(folder.path() / "link.csv",
                                   {counted("a", {{"instructions", 2}})}, kAll));
  EXPECT_EQ(text_of(file), "key,metric,expected,margin\na,instructions,2,\n");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link.csv"));
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_NE(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

TEST(ExpectedUpdate, CreatesAMissingFile) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "e.csv";
  ASSERT_TRUE(update_expected_file(file, {counted("a", {{"instructions", 1}})}, kAll));
  EXPECT_EQ(text_of(file), "key,metric,expected,margin\na,instructions,1,\n");
  const auto nowhere = update_expected_file(folder.path() / "no/e.csv", {counted("a", 1)}, kAll);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(
      error_lines(nowhere.error(), folder.path()),
      "no/e.csv: cannot write: No such file or directory: name a file in a folder that exists "
      "and that you may write to\n");
}

}  // namespace
}  // namespace instr::expected_update_test
