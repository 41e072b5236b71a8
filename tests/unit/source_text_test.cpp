#include "core/base/source_text.h"

#include "core/definitions/snippet.h"
#include "tests/testing.h"

namespace instr::source_text_test {
namespace {

using namespace testing;

using Place = std::pair<int, int>;

// The place of the content of the first string in `text`.
Place content(const std::string& text) {
  const SourceText source("a.toml", text);
  const std::size_t quote = text.find_first_of("\"'");
  const std::size_t line_start = text.rfind('\n', quote) + 1;
  const int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + quote, '\n'));
  const SourceLocation where =
      source.content_of_string(line, static_cast<int>(quote - line_start) + 1);
  return {where.line, where.column};
}

TEST(SourceText, FindsTheFirstCharacterOfAString) {
  EXPECT_EQ(content("a = \"x\""), (Place{1, 6}));
  EXPECT_EQ(content("a = 'x'"), (Place{1, 6}));
  EXPECT_EQ(content("a = \"\""), (Place{1, 6}));
  EXPECT_EQ(content("b = 1\na = \"\"\"x\"\"\""), (Place{2, 8}));
  EXPECT_EQ(content("a = \"\"\"\nx\"\"\""), (Place{2, 1}));
  EXPECT_EQ(content("a = \"\"\"\r\nx\"\"\""), (Place{2, 1}));
  EXPECT_EQ(content("a = '''\nx'''"), (Place{2, 1}));
  EXPECT_EQ(content("a = \"\"\"\n\nx\"\"\""), (Place{2, 1}));  // only one newline is dropped
  EXPECT_EQ(content("a = \"\"\" x\"\"\""), (Place{1, 8}));
}

TEST(SourceText, SkipsLineEndingBackslashes) {
  EXPECT_EQ(content("a = \"\"\"\\\n   x\"\"\""), (Place{2, 4}));
  EXPECT_EQ(content("a = \"\"\"\n\\  \n\n  x\"\"\""), (Place{4, 3}));
  EXPECT_EQ(content("a = \"\"\"\\tx\"\"\""), (Place{1, 8}));  // an escape, not a line's end
  EXPECT_EQ(content("a = '''\\\n   x'''"), (Place{1, 8}));    // literal strings have none
}

TEST(SourceText, CountsCharactersNotBytes) {
  const SourceText source("a.toml", "a = \"\xC3\xA9\", b = \"\"\"\nx\"\"\"");
  EXPECT_EQ(source.content_of_string(1, 14), (SourceLocation{"a.toml", 2, 1}));
}

TEST(SourceText, ReadsUtf8WithoutItsMark) {
  const TemporaryFolder folder;
  const auto source = value_of(
      SourceText::read(folder.write("a.toml", "\xEF\xBB\xBF# \xE2\x82\xAC \xF0\x9F\x98\x80\n")));
  EXPECT_EQ(source.text(), "# \xE2\x82\xAC \xF0\x9F\x98\x80\n");
}

TEST(SourceText, KeepsLineEnds) {
  EXPECT_EQ(SourceText("f", "a\r\nb\n").with_line_ends("a\r\nc\n"), "a\r\nc\r\n");
  for (const char* text : {"a\nb\r\n", "a", "", "\r\n"}) {
    EXPECT_EQ(SourceText("f", text).with_line_ends("c\n"), text[0] == '\r' ? "c\r\n" : "c\n");
  }
}

TEST(SourceText, RefusesBinaryFilesAtTheFirstInvalidByte) {
  const TemporaryFolder folder;
  for (const std::string& bad :
       {std::string("\0", 1), std::string("\xFF"), std::string("\x80"), std::string("\xC0\xAF"),
        std::string("\xE0\x80\xAF"), std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80"),
        std::string("\xF5\x80\x80\x80"), std::string("\xC3")}) {
    const auto source = SourceText::read(folder.write("a.toml", "x = 1\n# \xC3\xA9 " + bad));
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().where.line, 2);
    EXPECT_EQ(source.error().where.column, 5);
    EXPECT_FALSE(source.error().advice.empty());
  }
}

// --- Signatures ---

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
}  // namespace instr::source_text_test
