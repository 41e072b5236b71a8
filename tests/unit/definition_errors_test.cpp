// Every error of definitions, compared with its recorded message: each file or folder NAME in
// tests/fixtures/definitions/refused has its messages beside it, in NAME.errors.
#include <algorithm>
#include <sstream>

#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::definition_errors_test {
namespace {

using namespace testing;

std::vector<std::string> names(const fs::path& folder) {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".errors") result.push_back(entry.path().filename());
  }
  std::sort(result.begin(), result.end());
  return result;
}

class Refused : public ::testing::TestWithParam<std::string> {};

TEST_P(Refused, NamesPlaceProblemAndAdvice) {
  const fs::path folder = fixture("definitions/refused");
  const fs::path expected = folder / (fs::path(GetParam()).stem().string() + ".errors");
  EXPECT_EQ(load_errors({folder / GetParam()}, folder), text_of(expected));
}

INSTANTIATE_TEST_SUITE_P(Definitions, Refused,
                         ::testing::ValuesIn(names(fixture("definitions/refused"))),
                         [](const auto& test) { return fs::path(test.param).stem().string(); });

class Accepted : public ::testing::TestWithParam<std::string> {};

TEST_P(Accepted, HasNoErrors) {
  const fs::path folder = fixture("definitions/accepted");
  EXPECT_EQ(load_errors({folder / GetParam()}, folder), "");
}

INSTANTIATE_TEST_SUITE_P(Definitions, Accepted,
                         ::testing::ValuesIn(names(fixture("definitions/accepted"))),
                         [](const auto& test) { return fs::path(test.param).stem().string(); });

TEST(DefinitionErrors, ComeFromAllFilesSortedByFileAndPlace) {
  const TemporaryFolder folder;
  folder.write("a.toml", "schema = 1\n[[benchmark]]\nstmt = \"x;\"\nlabl = 1\n");
  folder.write("b.toml", "schema = 1\nbroken\n");
  folder.write("c.toml", "schema = 1\n[[benchmark]]\nlabel = \"c\"\n");
  EXPECT_GOLDEN("definitions/errors_of_all_files.txt", load_errors({folder.path()}, folder.path()));
}

TEST(DefinitionErrors, ReportUnusedSetupsOnlyIfEverythingWasRead) {
  const TemporaryFolder folder;
  folder.write(
      "a.toml",
      "schema = 1\nsetups.x.cpp = \"int x;\"\n[[benchmark]]\nlabel = \"a\"\nstmt = \"x;\"\n");
  folder.write("b.toml", "broken");  // it may use the setup
  EXPECT_EQ(load_errors({folder.path()}, folder.path()).find("no benchmark uses"),
            std::string::npos);
}

// Each part of a name is a nested table, and the stack is limited.
TEST(DefinitionErrors, RefuseNamesOfVeryManyParts) {
  std::string name = "a";
  for (int i = 1; i < 300'000; ++i) name += i % 2 == 0 ? " . a" : ".'\".'";
  const std::string refusal =
      "a name of more than 32 parts: remove the dots; in a text, break the line\n";
  for (const std::string& text :
       {name + " = 1\n", "[" + name + "]\n", "x = [1.5, {" + name + " = 1}]\n"}) {
    EXPECT_HAS(errors_of(text), refusal);
  }
  // As deep as the limit allows: an ordinary error.
  std::string part = "a";
  for (int i = 1; i < 32; ++i) part += ".a";
  std::string nested = "1";
  for (int i = 0; i < 250; ++i) nested = "{" + part + " = " + nested + "}";
  EXPECT_HAS(errors_of("schema = 1\na = " + nested + "\n"), "unknown key `a`");
}

TEST(DefinitionErrors, TextsAndListsMayHaveMoreDots) {
  const std::string dots(100, '.');
  std::string numbers;
  for (int i = 0; i < 100; ++i) numbers += std::to_string(i) + ".5, ";
  EXPECT_EQ(errors_of("schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmt = \"x\"\ndescription = \"" +
                      dots + "\"  # " + dots + "\nmatrix = { n = [" + numbers + "] }\ntags = \"a." +
                      numbers + "\"\n"),
            "");
}

}  // namespace
}  // namespace instr::definition_errors_test
