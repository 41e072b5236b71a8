#include "core/compile/cpp/self_contained.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

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
                           "R\"x(}\")x\";",
                           "int n = 1'000'000; f('{');",
                           "u8R\"({)\";",
                           "u8'{';",
                           "FOOR\"{}\";",
                           "0x1'f; {}",
                           "std::vector<::at::Tensor> v;",
                           "\"a\"s + \"b\"_c;",
                           "\"# %: \\\\\";",
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
       {"}", "{", "f(", "x]", "(]", "} {", "/* ", "\"abc", "'a", "R\"(", "R\"x()\";", "#define X 1",
        "int a;\n  # undef X", "/**/ #if 0", "\"a\nb\"", "// {\n{", "R\"(\\\")\" {"}) {
    EXPECT_FALSE(is_self_contained(code)) << code;
  }
}

TEST(IsSelfContained, RefusesOtherSpellingsOfSuchCode) {
  for (const char* code : {"%:define X 1",
                           "/**/%:define X",
                           "<% int x; %>",
                           "a<:0:>",
                           "a<:::b:>",
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
                           "// \r#define X\n",
                           "1'R\"( \" { \")\";",
                           "\"a\"R\"(b)\";",
                           "\"a\"R;",
                           "1p-R\"a( \" { \")a\";",
                           "\"a\"__COUNTER__;",
                           "export int x;",
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
  for (const char* code : {"", "goto a; a:;", "a: if (x) goto a;", "{ b: a: goto b; }",
                           "if (x) goto out; out: y();", "// goto a;", "\"goto a;\";"}) {
    EXPECT_FALSE(jumps_out(code)) << code;
  }
  for (const char* code : {"goto a;", "a::b(); goto a;", "x ? a : b; goto a;", "goto *where;"}) {
    EXPECT_TRUE(jumps_out(code)) << code;
  }
}

}  // namespace
}  // namespace instr::self_contained_test
