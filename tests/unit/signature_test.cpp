#include <gtest/gtest.h>

#include "core/definitions/snippet.h"
#include "tests/testing.h"

namespace instr::signature_test {
namespace {

using namespace testing;

Expected<Signature> parse(const std::string& code) {
  return parse_signature({code, {"a.toml", 7, 14}});
}

TEST(Signature, IsRead) {
  const auto signature = value_of(parse("f(x, w) -> y"));
  EXPECT_EQ(signature.arguments, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(signature.output, "y");
  EXPECT_EQ(signature.where, (SourceLocation{"a.toml", 7, 14}));
}

TEST(Signature, MayHaveSpacesAndNoArguments) {
  EXPECT_EQ(parse("  f ( x1,_w )->y \n")->arguments, (std::vector<std::string>{"x1", "_w"}));
  EXPECT_TRUE(parse("f() -> y")->arguments.empty());
}

struct Refused {
  const char* code;
  int column;
  const char* what;
};

TEST(Signature, IsRefusedAtTheWrongCharacter) {
  for (const Refused& refused : std::vector<Refused>{
           {"", 14, "bad signature: a function name expected here"},
           {"(x) -> y", 14, "bad signature: a function name expected here"},
           {"f x -> y", 16, "bad signature: `(` expected here"},
           {"f(x, -> y", 19, "bad signature: an argument's name expected here"},
           {"f(x,) -> y", 18, "bad signature: an argument's name expected here"},
           {"f(x w) -> y", 18, "bad signature: `,` or `)` expected here"},
           {"f(x", 17, "bad signature: `,` or `)` expected here"},
           {"f(1x) -> y", 16, "bad signature: an argument's name expected here"},
           {"f(x) = y", 19, "bad signature: `->` expected here"},
           {"f(x) -> ", 22, "bad signature: the output's name expected here"},
           {"f(x) -> y, z", 23, "bad signature: the end expected here"},
           {"f(x, x) -> y", 19, "bad signature: `x` is named twice"},
           {"f(self) -> y", 16, "bad signature: `self` is the module's own name"},
           {"f(\xC3\xA9) -> y", 16, "bad signature: an argument's name expected here"},
       }) {
    const auto signature = parse(refused.code);
    ASSERT_FALSE(signature) << refused.code;
    EXPECT_EQ(signature.error().what, refused.what) << refused.code;
    EXPECT_EQ(signature.error().where.column, refused.column) << refused.code;
    EXPECT_EQ(signature.error().where.line, 7) << refused.code;
  }
}

TEST(Signature, CountsLines) {
  EXPECT_EQ(parse("f(x,\n  1)").error().where, (SourceLocation{"a.toml", 8, 3}));
}

}  // namespace
}  // namespace instr::signature_test
