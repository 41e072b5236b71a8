// Parses recorded messages of real compilers.
#include "core/compile/cpp/diagnostics.h"

#include "core/compile/cache.h"
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

std::string place(const Diagnostic& diagnostic) {
  return diagnostic.file + ":" + std::to_string(diagnostic.line) + ":" +
         std::to_string(diagnostic.column);
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

// Formats each error with its symbol and notes.
std::string shown(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    text += diagnostic.symbol + (diagnostic.is_in_user_text ? "\n" : ", not in the user's text\n");
    text += "  " + place(diagnostic) + ": " + diagnostic.message + "\n";
    for (const std::string& note : diagnostic.notes) text += "  " + note + "\n";
  }
  return text;
}

TEST(ParseDiagnostics, ReadsMessagesOfEachTool) {
  for (const std::string tool : {"gcc", "clang", "linker"}) {
    EXPECT_GOLDEN("diagnostics/parsed_" + tool + ".txt", shown(recorded(tool + ".txt")));
  }
}

TEST(ParseDiagnostics, WarningsAndOtherOutputAreNotErrors) {
  EXPECT_TRUE(parse_diagnostics("").empty());
  EXPECT_TRUE(
      parse_diagnostics("@" + kFirst + ":a.toml:1:2: warning: odd\nclang: note: see\n\n").empty());
}

TEST(ParseDiagnostics, AnErrorOutsideOfSnippetsHasNoSymbol) {
  auto diagnostics = parse_diagnostics("/usr/include/x.h:1:2: error: bad\nfatal error: too much\n");
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].symbol, "");
  EXPECT_FALSE(diagnostics[0].is_in_user_text);
}

TEST(ParseDiagnostics, LinesBeforeAnErrorBelongToIt) {
  auto diagnostics =
      parse_diagnostics("@" + kFirst + ":a.toml:1:2:   required from here\n" +
                        "/usr/include/x.h:1:2: error: bad\n/usr/include/x.h:3:4: error: bad\n");
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[0].symbol, kFirst);
  EXPECT_EQ(diagnostics[1].symbol, "");
}

TEST(ParseDiagnostics, AGlobalSetupIsShared) {
  auto diagnostics =
      parse_diagnostics("@shared:a.toml:5:10: fatal error: x.h: No such file or directory\n");
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].symbol, "shared");
  EXPECT_EQ(place(diagnostics[0]), "a.toml:5:10");
}

TEST(Describe, ShowsTheCodeAndTheNotes) {
  const auto diagnostics = recorded("clang.txt");
  EXPECT_GOLDEN("diagnostics/error_of_clang.txt",
                describe(first_variant(), {diagnostics[2]}) + "\n");
  EXPECT_GOLDEN("diagnostics/error_of_clang_with_notes.txt",
                describe(first_variant(), {diagnostics[1]}) + "\n");
}

TEST(Describe, NamesTheUsersTypesAsWritten) {
  EXPECT_GOLDEN("diagnostics/error_of_gcc.txt",
                describe(first_variant(), {recorded("gcc.txt")[4]}) + "\n");
}

TEST(Describe, IsBriefWithoutRepetitions) {
  auto diagnostic = recorded("clang.txt")[2];
  std::vector<Diagnostic> many(3, diagnostic);
  EXPECT_EQ(describe(first_variant(), many), describe(first_variant(), {diagnostic}));
  for (int i = 0; i < 9; ++i) {
    many.push_back(diagnostic);
    many.back().message = std::string(5000, 'x') + std::to_string(i);
    many.back().column = i + 1;
  }
  std::string text = describe(first_variant(), many);
  EXPECT_LT(text.size(), 2000u);
  EXPECT_HAS(text, "\nand 7 more");
}

TEST(Describe, ErrorsInGeneratedCodeAreAtTheDefinition) {
  Diagnostic diagnostic;
  diagnostic.symbol = kFirst;
  diagnostic.is_in_user_text = true;
  diagnostic.line = 1;
  diagnostic.column = 7;
  diagnostic.message = "odd";
  EXPECT_EQ(describe(first_variant(), {diagnostic}),
            "dir with space/a.toml:3:1: error: odd [in a/key]");
}

TEST(Describe, OurOwnAssertionsComeFirst) {
  auto diagnostics = recorded("clang.txt");
  Diagnostic ours = diagnostics[2];
  ours.message = "static_assert failed due to requirement 'x<y>' \"instr_bench: not a tensor\"";
  std::string text = describe(first_variant(), {diagnostics[2], ours});
  EXPECT_EQ(text.rfind("dir with space/a.toml:5:30: error: not a tensor [in a/key]", 0), 0u)
      << text;
  ours.message = "static assertion failed: instr_bench: not a tensor";
  EXPECT_EQ(describe(first_variant(), {diagnostics[2], ours}), text);
}

// --- Missing symbols ---

constexpr const char* kNew =
    "my::size_of(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
    "const&)";

TEST(StringLayout, IsTheReasonIfALibraryHasTheFunctionForTheOther) {
  TemporaryFolder folder;
  write(folder.path() / "libmy.so", "…_ZN2my7size_ofERKSs…_Z4freeSs…");
  BuildOptions build;
  build.library_dirs = {"/nowhere", folder.path()};
  build.libraries = {"other", "my"};
  const LinkedCode code{&build, {}, 1};
  EXPECT_EQ(find_string_layout_reason(kNew, code),
            "libmy.so was built with _GLIBCXX_USE_CXX11_ABI=0, but LibTorch and so the snippets "
            "with 1: build it with -D_GLIBCXX_USE_CXX11_ABI=1");
  EXPECT_HAS(find_string_layout_reason("free(std::string)", code), "ABI=1, but LibTorch");
  EXPECT_EQ(find_string_layout_reason("my::size_of(int)", code), "");
  EXPECT_EQ(find_string_layout_reason("my::other(std::string)", code), "");
  EXPECT_EQ(find_string_layout_reason("my::size_of<int>(std::string)", code), "");
  EXPECT_EQ(find_string_layout_reason("", code), "");
}

// A function of LibTorch that exists for the other layout, as g++ names it.
TEST(StringLayout, OfCodeThatCallsLibTorchIsNamed) {
  constexpr const char* kOld =
      "c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&)";
  LibTorch libtorch;
  EXPECT_EQ(read_string_layout(libtorch), -1);
  libtorch.defines = {"OTHER", "_GLIBCXX_USE_CXX11_ABI=1"};
  LinkedCode code{nullptr, {}, read_string_layout(libtorch)};
  EXPECT_EQ(find_string_layout_reason(kOld, code),
            "this code is compiled with _GLIBCXX_USE_CXX11_ABI=0, but LibTorch with 1: remove the "
            "flag, the entry of `defines` or the #define that sets it");
  EXPECT_EQ(find_string_layout_reason("c10::none(std::__cxx11::basic_string<char>)", code), "");
  EXPECT_EQ(find_string_layout_reason("c10::none(int)", code), "");
  code.libtorch_layout = 0;
  EXPECT_EQ(find_string_layout_reason(kOld, code), "");
  EXPECT_HAS(find_string_layout_reason("c10::none[abi:cxx11](int)", code),
             "ABI=1, but LibTorch with 0");
}

// A real message of the loader.
TEST(LoaderMessage, HasReadableNames) {
  EXPECT_EQ(explain_loader_message(
                "/x/libt.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"),
            "/x/libt.so: undefined symbol: c10::detail::torchCheckFail(char const*, char const*, "
            "unsigned int, std::string const&): that library was built with "
            "_GLIBCXX_USE_CXX11_ABI=0; if this LibTorch was built with 1, build it so, too");
  EXPECT_EQ(explain_loader_message("a.so: undefined symbol: _ZN2my1fEv (fatal)"),
            "a.so: undefined symbol: my::f() (fatal)");
  EXPECT_EQ(explain_loader_message("a.so: undefined symbol: plain"),
            "a.so: undefined symbol: plain");
  EXPECT_EQ(explain_loader_message("a.so: file too short"), "a.so: file too short");
}

}  // namespace
}  // namespace instr::diagnostics_test
