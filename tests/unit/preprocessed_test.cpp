#include <gtest/gtest.h>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/self_contained.h"

namespace instr::preprocessed_test {
namespace {

Variant variant(const std::string& stmt) {
  Variant result;
  result.stmt = Text{stmt, {"a.toml", 1, 1}};
  return result;
}

std::string twice(const std::string& symbol, const std::string& first, const std::string& second) {
  const std::string marker = "# 1 \"@" + symbol + ":0\" 2\n";
  const std::string between = "\n# 1 \"@\"\n";
  return marker + first + between + marker + second + between;
}

TEST(MakePreprocessorInput, HasTheIncludesAndEachTextTwice) {
  auto one = variant("f();");
  one.global_setups = {Text{"#include <numeric>\nint f();", {}}};
  std::string twice = "#line 1 \"@" + make_snippet_symbol(one) + ":0\"\nf();\n\n#line 1 \"@\"\n";
  twice += twice;
  EXPECT_EQ(make_preprocessor_input(std::vector{one}, Purpose::kMeasure),
            "#include <numeric>\n\n" + twice);
}

TEST(FindReachingSymbols, ReturnsVariantsWithMacrosThatAffectOthers) {
  using Symbols = std::set<std::string>;
  const std::string start = "# 1 \"unit.cpp\"\n# 1 \"<built-in>\" 1\nint { header\n";
  EXPECT_EQ(find_reaching_symbols(start + twice("a", "f();", "f();")), Symbols{});
  EXPECT_EQ(find_reaching_symbols(start + twice("a", "} {", "} {") + twice("b", "f();", "f();")),
            Symbols{"a"});
  EXPECT_EQ(find_reaching_symbols(twice("a", "x;\n#pragma pack(1)", "x;\n#pragma pack(1)")),
            Symbols{"a"});
  EXPECT_EQ(find_reaching_symbols(twice("a", "f(0);", "f(1);")), Symbols{"a"});
  // Lines that the preprocessor omitted.
  EXPECT_EQ(find_reaching_symbols(twice("a", "f(\n# 12 \"@a:0\"\n);", "f(\n# 12 \"@a:0\"\n);")),
            Symbols{});
}

}  // namespace
}  // namespace instr::preprocessed_test
