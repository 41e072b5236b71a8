#include <sys/stat.h>

#include <limits>
#include <sstream>

#include "core/compare/expected_counts.h"
#include "tests/unit/compare_testing.h"
#include "tests/unit/definition_testing.h"

namespace instr::expected_update_test {
namespace {

namespace fs = std::filesystem;

using testing::counted;
using testing::failed;
using testing::skipped;
using testing::unsteady;

const IsSelected kAll = [](const std::string&) { return true; };
const IsSelected kNone = [](const std::string&) { return false; };

// The updated text; updating that again must change nothing.
std::string updated(const std::string& name, const std::string& text,
                    const std::vector<Measurement>& measurements, const IsSelected& is_selected) {
  const auto update = update_expected_counts(SourceText(name, text), measurements, is_selected);
  if (!update) return error_lines(update.error(), "nowhere");
  const auto again =
      update_expected_counts(SourceText(name, update->text), measurements, is_selected);
  EXPECT_TRUE(again && again->text == update->text) << update->text;
  EXPECT_EQ(again ? again->changed + again->added + again->removed : 0, 0u);
  return update->text;
}

std::string csv(const std::string& text, const std::vector<Measurement>& measurements,
                const IsSelected& is_selected = kAll) {
  return updated("e.csv", text, measurements, is_selected);
}

std::string toml(const std::string& text, const std::vector<Measurement>& measurements,
                 const IsSelected& is_selected = kAll) {
  return updated("e.toml", text, measurements, is_selected);
}

TEST(ExpectedUpdate, ChangesOnlyNumbersThatDiffer) {
  const std::string text =
      "# of the build machine\n\nkey,metric,expected,margin\n"
      "b , ir,1,\n"
      "a,ir, 1000.0 ,0.5%\r\n"
      "\"a\",\"allocs\",\"2\",\"+0\"\n"
      "# last";
  EXPECT_EQ(csv(text, {counted("a", {{"ir", 1000}, {"allocs", 2}}), counted("b ", {{"ir", 1}})}),
            text);
  EXPECT_EQ(csv(text, {counted("a", {{"ir", 2000.5}, {"allocs", 31}}), counted("b ", {{"ir", 0}})}),
            "# of the build machine\n\nkey,metric,expected,margin\n"
            "b , ir,0,\n"
            "a,ir, 2000.5 ,0.5%\r\n"
            "\"a\",\"allocs\",\"31\",\"+0\"\n"
            "# last");
  const std::string table = R"(  # of the build machine
 [ "größe/a" ] # x
allocs =  2# two
  ir = 1_000 # thousand
[x]
margin = { ir = "1%" }
"ir"=0x10)";
  EXPECT_EQ(
      toml(table, {counted("größe/a", {{"ir", 1000}, {"allocs", 2}}), counted("x", {{"ir", 16}})}),
      table);
  EXPECT_EQ(
      toml(table, {counted("größe/a", {{"ir", 7}, {"allocs", 11.25}}), counted("x", {{"ir", 17}})}),
      R"(  # of the build machine
 [ "größe/a" ] # x
allocs =  11.25# two
  ir = 7 # thousand
[x]
margin = { ir = "1%" }
"ir"=17)");
}

TEST(ExpectedUpdate, FindsNumbersInEveryFormOfATable) {
  EXPECT_EQ(toml("\"a/b\".ir = 1\n\"a/b\".margin.ir = \"+1\"\n"
                 "c = { ir = 1, margin = { ir = \"\"\"\n+1\"\"\" }, allocs = 1 }\n"
                 "[d.margin]\nir = \"+1\"\n[d]\nir = 1\n",
                 {counted("a/b", {{"ir", 10}}), counted("c", {{"ir", 20}, {"allocs", 30}}),
                  counted("d", {{"ir", 40}})}),
            "\"a/b\".ir = 10\n\"a/b\".margin.ir = \"+1\"\n"
            "c = { ir = 20, margin = { ir = \"\"\"\n+1\"\"\" }, allocs = 30 }\n"
            "[d.margin]\nir = \"+1\"\n[d]\nir = 40\n");
}

TEST(ExpectedUpdate, KeepsNumbersThatWereNotMeasured) {
  const std::string text =
      "key,metric,expected\na,ir,1\na,allocs,1\nb,ir,1\nc,ir,1\nd,ir,1\ne,ir,1\n"
      "f,ir,1\ng,ir,1\n";
  Measurement threads = counted("e", {{"ir", 9}});
  std::get<Counted>(threads.outcome).gated = false;
  EXPECT_EQ(csv(text, {counted("a", {{"ir", 2}}), failed("b"), skipped("c"), unsteady("d", 8, 9),
                       threads, counted("f", {{"ir", -3}}),
                       counted("g", {{"ir", std::numeric_limits<double>::quiet_NaN()}})}),
            "key,metric,expected\na,ir,2\na,allocs,1\nb,ir,1\nc,ir,1\nd,ir,1\ne,ir,1\nf,ir,1\n"
            "g,ir,1\n");
}

TEST(ExpectedUpdate, AddsNewKeysAtTheEnd) {
  const std::vector<Measurement> now{counted("new", {{"ir", 5}, {"allocs", 1}, {"other", 3}}),
                                     counted("# q\",\n", {{"ir", 6.5}}), failed("bad"),
                                     unsteady("shaky", 1, 2), counted("none", {{"allocs", 3}})};
  EXPECT_EQ(csv("key,metric,expected,margin\na,ir,1,", now, kNone),
            "key,metric,expected,margin\na,ir,1,\nnew,ir,5,\n\"# q\"\",\n\",ir,6.5,\n");
  EXPECT_EQ(csv("key,metric,expected\r\na,ir,1\r\n", now, kNone),
            "key,metric,expected\r\na,ir,1\r\nnew,ir,5\r\n\"# q\"\",\n\",ir,6.5\r\n");
  EXPECT_EQ(toml("[a]\nir = 1", now, kNone),
            "[a]\nir = 1\n\n[\"new\"]\nir = 5\n\n[\"# q\\\",\\u000A\"]\nir = 6.5\n");
  EXPECT_EQ(
      toml("[a]\r\nir = 1\r\n\r\n", now, kNone),
      "[a]\r\nir = 1\r\n\r\n[\"new\"]\r\nir = 5\r\n\r\n[\"# q\\\",\\u000A\"]\r\nir = 6.5\r\n");
}

// As left by a truncated copy.
TEST(ExpectedUpdate, HalfALineEndIsCompleted) {
  EXPECT_EQ(csv("key,metric,expected\r\na,ir,1\r",
                {counted("a", {{"ir", 1}}), counted("b", {{"ir", 2}})}),
            "key,metric,expected\r\na,ir,1\r\nb,ir,2\r\n");
}

TEST(ExpectedUpdate, WritesAnEmptyFile) {
  const std::vector<Measurement> now{counted("a", {{"peak_bytes", 64}, {"ir", 5}, {"allocs", 1}}),
                                     counted("b", {{"ir", 6}})};
  EXPECT_EQ(csv("", now),
            "key,metric,expected,margin\na,ir,5,\na,allocs,1,\na,peak_bytes,64,\nb,ir,6,\n");
  EXPECT_EQ(csv("# mine\n", {now[1]}), "# mine\nkey,metric,expected,margin\nb,ir,6,\n");
  EXPECT_EQ(toml("", now), "[\"a\"]\nir = 5\nallocs = 1\npeak_bytes = 64\n\n[\"b\"]\nir = 6\n");
}

TEST(ExpectedUpdate, RemovesMissingKeys) {
  const auto starts_with_a = [](const std::string& key) { return key.starts_with('a'); };
  const std::vector<Measurement> now{counted("a1", {{"ir", 1}})};
  EXPECT_EQ(csv("key,metric,expected\n# first\na0,ir,1\na1,ir,1\n\"a\n2\",ir,1\nb,ir,1\na3,ir,1",
                now, starts_with_a),
            "key,metric,expected\n# first\na1,ir,1\nb,ir,1\n");
  const std::string table = R"(# products

[a0]
ir = 1
# inside
allocs = 2

# of a1
[a1]
ir = 1

["a\n2"] # gone
ir = 1
margin = { ir = """
+1""" }

["a\n3"]
ir = 1
# of b
[b]
ir = 1

[a4]
ir = 1

)";
  EXPECT_EQ(toml(table, now, starts_with_a),
            "# products\n\n# of a1\n[a1]\nir = 1\n\n# of b\n[b]\nir = 1\n");
  EXPECT_EQ(toml(table, now, kNone), table);
  EXPECT_EQ(
      toml("a.ir = 1\n# x\nb.ir = 2\na.allocs = 3\n[a.margin]\nir = \"+1\"\n", {}, starts_with_a),
      "# x\nb.ir = 2\n");
  EXPECT_EQ(toml("[a]\nir = 1\n", {}), "");
  EXPECT_EQ(csv("key,metric,expected\na,ir,1\n", {}), "key,metric,expected\n");
}

TEST(ExpectedUpdate, CountsWhatItDid) {
  const auto update = update_expected_counts(
      SourceText("e.csv", "key,metric,expected\na,ir,1\na,allocs,1\nb,ir,1\nb,allocs,1\n"),
      {counted("a", {{"ir", 2}, {"allocs", 2}}), counted("c", {{"ir", 2}, {"allocs", 2}})}, kAll);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->changed, 2u);
  EXPECT_EQ(update->added, 1u);
  EXPECT_EQ(update->removed, 1u);
}

TEST(ExpectedUpdate, WritesNumbersThatReadTheSame) {
  for (const double value :
       {0.0, -0.0, 0.1, 1.0 / 3, 1e15, 123456789012345678.0, 1e22, 1e300, 5e-324}) {
    for (const char* name : {"e.csv", "e.toml"}) {
      const auto update =
          update_expected_counts(SourceText(name, ""), {counted("k", {{"ir", value}})}, kAll);
      ASSERT_TRUE(update);
      const auto counts = parse_expected_counts(SourceText(name, update->text));
      ASSERT_TRUE(counts) << update->text;
      const auto& outcome = counts->baseline.measurements.at(0).outcome;
      EXPECT_EQ(std::get<Counted>(outcome).metrics.at("ir"), value);
    }
  }
}

TEST(ExpectedUpdate, WritesZeroWithoutASign) {
  EXPECT_EQ(toml("", {counted("k", {{"ir", -0.0}})}), "[\"k\"]\nir = 0\n");
}

TEST(ExpectedUpdate, EveryKeyReadsTheSame) {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  for (const std::string& key :
       {all, std::string("\"\""), std::string(" a "), std::string("\n"), std::string("#a"),
        std::string("矩阵,"), std::string("=1+1"), std::string("-5"), std::string("'@x"),
        std::string("key"), std::string("margin.ir")}) {
    for (const char* name : {"e.csv", "e.toml"}) {
      const auto text = updated(name, "", {counted(key, {{"ir", 1}})}, kAll);
      const auto counts = parse_expected_counts(SourceText(name, text));
      ASSERT_TRUE(counts) << text;
      EXPECT_EQ(counts->baseline.measurements.at(0).variant.key, key);
    }
  }
}

TEST(ExpectedUpdate, RefusesWhatCannotBeWritten) {
  EXPECT_EQ(
      csv("", {counted("a\xFF", {{"ir", 1}})}),
      "e.csv: the new counts cannot be written into this file: a byte that is not valid UTF-8: "
      "this is "
      "a binary file, or text in another encoding: rename the benchmark, or change the file by "
      "hand\n");
  EXPECT_NE(toml("", {counted("a\xFF", {{"ir", 1}})}).find("cannot be written"), std::string::npos);
  EXPECT_EQ(
      csv("key,metric,expected\na,ir,x\n", {}),
      "e.csv:2:6: `x` is not a count: write a number of 0 or more, such as `12345` or `12.5`\n");
}

TEST(ExpectedUpdate, KeepsAByteOrderMark) {
  EXPECT_EQ(csv("\xEF\xBB\xBFkey,metric,expected\na,ir,1\n", {counted("a", {{"ir", 2}})}),
            "\xEF\xBB\xBFkey,metric,expected\na,ir,2\n");
}

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

TEST(ExpectedUpdate, ReplacesTheFileInOneStep) {
  const TempFolder folder;
  const fs::path file = folder.write("e.csv", "key,metric,expected\na,ir,1\n");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("e.csv", folder.path() / "link.csv");
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  // A file that needs no change is left alone.
  ASSERT_TRUE(update_expected_file(file, {counted("a", {{"ir", 1}})}, kAll));
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  ASSERT_TRUE(update_expected_file(folder.path() / "link.csv", {counted("a", {{"ir", 2}})}, kAll));
  EXPECT_EQ(read(file), "key,metric,expected\na,ir,2\n");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link.csv"));
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_NE(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

TEST(ExpectedUpdate, CreatesAMissingFile) {
  const TempFolder folder;
  const fs::path file = folder.path() / "e.toml";
  ASSERT_TRUE(update_expected_file(file, {counted("a", {{"ir", 1}})}, kAll));
  EXPECT_EQ(read(file), "[\"a\"]\nir = 1\n");
  const auto nowhere = update_expected_file(folder.path() / "no/e.toml", {counted("a", 1)}, kAll);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(
      error_lines(nowhere.error(), folder.path()),
      "no/e.toml: cannot write: No such file or directory: name a file in a folder that exists "
      "and that you may write to\n");
}

}  // namespace
}  // namespace instr::expected_update_test
