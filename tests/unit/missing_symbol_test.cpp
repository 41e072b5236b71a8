#include <gtest/gtest.h>

#include "core/compile/cpp/diagnostics.h"
#include "tests/testing.h"

namespace instr::missing_symbol_test {
namespace {

using namespace testing;

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
}  // namespace instr::missing_symbol_test
