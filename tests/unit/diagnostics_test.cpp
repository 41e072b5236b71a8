// On recorded messages of real compilers.
#include "core/compile/diagnostics.h"

#include <gtest/gtest.h>

#include "core/compile/cache_files.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::diagnostics_test {
namespace {

using namespace testing;

const std::string kFirst = "instr_snippet_0123456789abcdef0123456789abcdef";
const std::string kSecond = "instr_snippet_fedcba9876543210fedcba9876543210";

std::vector<Diagnostic> recorded(const std::string& name) {
  return parse_diagnostics(value_of(read_text(fixture("diagnostics/" + name))));
}

std::string place(const Diagnostic& one) {
  return one.file + ":" + std::to_string(one.line) + ":" + std::to_string(one.column);
}

// The variant of the first snippet in the recordings.
Variant first_variant() {
  Variant variant;
  variant.key = "a/key";
  variant.where = {"dir with space/a.toml", 3, 1};
  variant.setups = {Text{"struct A { A(int); }; std::vector<A> v; int not_there(int);",
                         {"dir with space/a.toml", 4, 10}}};
  variant.stmt = Text{"v.resize(3); int n = nowhere;", {"dir with space/a.toml", 5, 9}};
  return variant;
}

TEST(ParseDiagnostics, Gcc) {
  auto found = recorded("gcc.txt");
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].symbol, kFirst);
  EXPECT_EQ(place(found[0]), "dir with space/a.toml:5:30");
  EXPECT_EQ(found[0].message,
            "‘nowhere’ was not declared in this scope; did you mean ‘not_there’?");
  EXPECT_TRUE(found[0].notes.empty());
  EXPECT_EQ(found[1].symbol, kSecond);
  EXPECT_EQ(place(found[1]), "b.toml:9:11");
  EXPECT_EQ(found[2].symbol, kSecond);
  // In a header: the lines before it say where the definition led to it.
  EXPECT_EQ(found[3].symbol, kFirst);
  EXPECT_TRUE(found[3].is_in_user_text);
  EXPECT_EQ(place(found[3]), "dir with space/a.toml:5:17");
  EXPECT_EQ(found[3].message.rfind("no matching function for call to ‘construct_at", 0), 0u);
  ASSERT_GE(found[3].notes.size(), 2u);
  EXPECT_EQ(found[3].notes[0],
            "/usr/include/c++/12/bits/stl_construct.h:115:28: note: the error is here");
  EXPECT_EQ(found[4].symbol, kFirst);
  EXPECT_EQ(found[4].notes[0].rfind("dir with space/a.toml:4:21: note: candidate: ", 0), 0u);
}

TEST(ParseDiagnostics, Clang) {
  auto found = recorded("clang.txt");
  ASSERT_EQ(found.size(), 5u);
  // In a header: the lines after it say where the definition led to it.
  EXPECT_EQ(found[0].symbol, kFirst);
  EXPECT_TRUE(found[0].is_in_user_text);
  EXPECT_EQ(place(found[0]), "dir with space/a.toml:5:11");
  EXPECT_EQ(found[0].message, "no matching function for call to 'construct_at'");
  EXPECT_EQ(found[2].symbol, kFirst);
  EXPECT_EQ(place(found[2]), "dir with space/a.toml:5:30");
  EXPECT_EQ(found[2].message, "use of undeclared identifier 'nowhere'");
  EXPECT_EQ(found[3].symbol, kSecond);
  EXPECT_EQ(found[4].symbol, kSecond);
}

TEST(ParseDiagnostics, Linker) {
  auto found = recorded("linker.txt");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].symbol, kFirst);
  EXPECT_EQ(found[0].message, "undefined reference to `not_there'");
  EXPECT_EQ(found[1].symbol, kFirst);
  EXPECT_EQ(found[1].message, "undefined reference to `nor_there'");
  EXPECT_EQ(found[2].symbol, kSecond);
}

TEST(ParseDiagnostics, WarningsAndOtherOutputAreNotErrors) {
  EXPECT_TRUE(parse_diagnostics("").empty());
  EXPECT_TRUE(
      parse_diagnostics("@" + kFirst + ":a.toml:1:2: warning: odd\nclang: note: see\n\n").empty());
}

TEST(ParseDiagnostics, AnErrorOutsideOfSnippetsHasNoSymbol) {
  auto found = parse_diagnostics("/usr/include/x.h:1:2: error: bad\nfatal error: too much\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbol, "");
  EXPECT_FALSE(found[0].is_in_user_text);
}

TEST(ParseDiagnostics, TheLinesBeforeAnErrorAreThatErrorsOwn) {
  auto found =
      parse_diagnostics("@" + kFirst + ":a.toml:1:2:   required from here\n" +
                        "/usr/include/x.h:1:2: error: bad\n/usr/include/x.h:3:4: error: bad\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].symbol, kFirst);
  EXPECT_EQ(found[1].symbol, "");
}

TEST(ParseDiagnostics, AGlobalSetupIsShared) {
  auto found =
      parse_diagnostics("@shared:a.toml:5:10: fatal error: x.h: No such file or directory\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbol, "shared");
  EXPECT_EQ(place(found[0]), "a.toml:5:10");
}

TEST(Describe, ShowsTheCodeAndTheNotes) {
  const auto found = recorded("clang.txt");
  EXPECT_GOLDEN("diagnostics/error_of_clang.txt", describe(first_variant(), {found[2]}) + "\n");
  EXPECT_GOLDEN("diagnostics/error_of_clang_with_notes.txt",
                describe(first_variant(), {found[1]}) + "\n");
}

TEST(Describe, NamesTheUsersTypesAsWritten) {
  EXPECT_GOLDEN("diagnostics/error_of_gcc.txt",
                describe(first_variant(), {recorded("gcc.txt")[4]}) + "\n");
}

TEST(Describe, IsBriefWithoutRepetitions) {
  auto one = recorded("clang.txt")[2];
  std::vector<Diagnostic> many(3, one);
  EXPECT_EQ(describe(first_variant(), many), describe(first_variant(), {one}));
  for (int i = 0; i < 9; ++i) {
    many.push_back(one);
    many.back().message = std::string(5000, 'x') + std::to_string(i);
    many.back().column = i + 1;
  }
  std::string text = describe(first_variant(), many);
  EXPECT_LT(text.size(), 2000u);
  EXPECT_NE(text.find("\nand 7 more"), std::string::npos) << text;
}

TEST(Describe, ErrorsInGeneratedCodeAreAtTheDefinition) {
  Diagnostic one;
  one.symbol = kFirst;
  one.is_in_user_text = true;
  one.line = 1;
  one.column = 7;
  one.message = "odd";
  EXPECT_EQ(describe(first_variant(), {one}), "dir with space/a.toml:3:1: error: odd [in a/key]");
}

TEST(Describe, OurOwnAssertionsComeFirst) {
  auto found = recorded("clang.txt");
  Diagnostic ours = found[2];
  ours.message = "static_assert failed due to requirement 'x<y>' \"instr_bench: not a tensor\"";
  std::string text = describe(first_variant(), {found[2], ours});
  EXPECT_EQ(text.rfind("dir with space/a.toml:5:30: error: not a tensor [in a/key]", 0), 0u)
      << text;
  ours.message = "static assertion failed: instr_bench: not a tensor";
  EXPECT_EQ(describe(first_variant(), {found[2], ours}), text);
}

}  // namespace
}  // namespace instr::diagnostics_test
