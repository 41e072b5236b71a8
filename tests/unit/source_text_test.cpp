#include "core/base/source_text.h"

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

}  // namespace
}  // namespace instr::source_text_test
