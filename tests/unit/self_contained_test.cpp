#include "core/compile/cpp/self_contained.h"

#include <fmt/format.h>

#include "core/compile/compiled_variant.h"
#include "tests/testing.h"

namespace instr::self_contained_test {
namespace {

TEST(IsSelfContained, AcceptsCompleteCode) {
  for (const char* code : {"",
                           "auto y = f(x)[{1, 2}];",
                           "// }\nint x;",
                           "/* { ( */ int x;",
                           "\"}\";",
                           "'}';",
                           "'\\'';",
                           "\"\\\"{\";",
                           "R\"(}\")\";",
                           "int n = 1'000'000; f('{');",
                           "u8R\"({)\";",
                           "u8'{';",
                           "0x1'f; {}",
                           "std::vector<::at::Tensor> v;",
                           "a % b; c < d;",
                           "asm volatile(\".rept 50\\n nop\\n .endr\");",
                           "asm volatile(\"\" : : \"r\"(p) : \"memory\");",
                           "f(\"./a.txt\");",
                           "a ? b : c;",
                           "L\"}\";",
                           "\"\xC3\xA9\"; // \xC3\xA9"}) {
    EXPECT_TRUE(is_self_contained(code)) << code;
  }
}

TEST(IsSelfContained, RefusesCodeThatAffectsOthers) {
  for (const char* code :
       {"}", "f(", "x]", "(]", "} {", "/* ", "\"abc", "'a", "R\"(", "#define X 1",
        "int a;\n  # undef X", "\"a\nb\"", "// {\n{", "R\"(\\\")\" {"}) {
    EXPECT_FALSE(is_self_contained(code)) << code;
  }
}

TEST(IsSelfContained, RefusesOtherSpellingsOfSuchCode) {
  for (const char* code : {"%:define X 1",
                           "/**/%:define X",
                           "<% int x; %>",
                           "FOOR\"{}\";",
                           "R\"x(}\")x\";",
                           "1p-R\"( \" { \")\";",
                           "?\?=define X 1",
                           "\"?\?/\";",
                           "_Pragma(\"pack(1)\");",
                           "int n = __COUNTER__;",
                           "// ends with \\",
                           "// goes on \\\n }",
                           "// goes on \\ \n }",
                           "%\\\n:define X",
                           "/\\\n* */",
                           "/* *\\\n/ { /* */ }",
                           "// \r} {\n",
                           "1'R\"( \" { \")\";",
                           "\"a\"R;",
                           "f(\\a);",
                           "\"a\"__COUNTER__;",
                           "\xC3R\"a( \" { \")a\";",
                           "int \xC3\xA9;"}) {
    EXPECT_FALSE(is_self_contained(code)) << code;
  }
}

TEST(IsSelfContained, RefusesAssemblyThatAffectsLaterCode) {
  for (const char* text : {".macro nop\\n.endm", ".intel_syntax noprefix", ".section .x", ".rept 2",
                           ".endr\\n.rept 2", "/*", "*/", "\\x2eset a, 1"}) {
    EXPECT_FALSE(is_self_contained(fmt::format("asm volatile(\"{}\");", text))) << text;
  }
  EXPECT_FALSE(is_self_contained("__asm__(R\"(.set a, 1)\");"));
}

TEST(JumpsOut, OnlyIfTheLabelIsOutside) {
  for (const char* code :
       {"", "goto a; a:;", "a: if (x) goto a;", "{ b: a: goto b; }", "if (x) goto out; out: y();",
        "if (x) y(); else a: goto a;", "// goto a;", "\"goto a;\";"}) {
    EXPECT_FALSE(jumps_out(code)) << code;
  }
  for (const char* code : {"goto a;", "a::b(); goto a;", "x ? a : b; goto a;", "goto *where;",
                           "f(R\"x( ; a: )x\"); goto a;"}) {
    EXPECT_TRUE(jumps_out(code)) << code;
  }
}

Variant variant(const std::string& stmt) {
  Variant result;
  result.stmt = Text{stmt, {"a.toml", 1, 1}};
  return result;
}

std::string twice(const std::string& text) { return text + text; }

TEST(MakePreprocessorInput, HasTheIncludesAndEachVariantsTextsTwice) {
  auto one = variant("f();");
  one.setups = {Text{"int n;", {}}};
  one.global_setups = {Text{"#include <numeric>\nint f();", {}}};
  EXPECT_EQ(make_preprocessor_input(std::vector{one}, Purpose::kMeasure),
            "#include <numeric>\n\n" + twice("\n#line 1 \"@\"\ninstr_expanded_" +
                                             make_snippet_symbol(one) + "\nint n;\n;\nf();\n;\n"));
}

TEST(FindReachingSymbols, ReturnsVariantsWithMacrosThatAffectOthers) {
  using Symbols = std::set<std::string>;
  const std::string start = "#pragma GCC pch_preprocess\nint { header\n";
  const std::string fine = twice("instr_expanded_fine\nf(); ;\n");
  EXPECT_EQ(find_reaching_symbols(start + fine), Symbols{});
  EXPECT_EQ(find_reaching_symbols(start + twice("instr_expanded_a\n} { ;\n") + fine), Symbols{"a"});
  EXPECT_EQ(find_reaching_symbols(twice("instr_expanded_a\nx;\n#pragma pack(1)\n") + fine),
            Symbols{"a"});
  EXPECT_EQ(find_reaching_symbols("instr_expanded_a\nf(0);\ninstr_expanded_a\nf(1);\n" + fine),
            Symbols{"a"});
}

// --- Joined global set-ups ---

TEST(GlobalSetup, KeepsEachLineAtItsPlace) {
  Variant variant;
  EXPECT_FALSE(join_global_setups(variant));
  variant.global_setups = {{"a\nb", {"x", 3, 9}}, {"c\n", {"x", 7, 1}},  {"d", {"x", 8, 1}},
                           {"e", {"x", 9, 1}},    {"back", {"x", 2, 1}}, {"other", {"y", 5, 1}}};
  const auto joined = join_global_setups(variant);
  // Lines:                       3  4       7  8  9
  EXPECT_EQ(joined->code,
            "a\nb\n\n\nc\nd\ne\n#line 2 \"@shared:x\"\nback\n#line 5 \"@shared:y\"\nother");
  EXPECT_EQ(joined->where, (SourceLocation{"x", 3, 9}));
}

TEST(GlobalSetup, QuotesFileNamesInLineDirectives) {
  Variant variant;
  variant.global_setups = {{"int a;", {"common.inc", 2, 1}}, {"int b;", {"/a\"b\\c.toml", 3, 1}}};
  EXPECT_HAS(join_global_setups(variant)->code, "/a\\\"b\\\\c.toml\"\n");
}

}  // namespace
}  // namespace instr::self_contained_test
