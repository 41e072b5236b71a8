#include "core/base/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/output.h"

namespace instr::format_test {
namespace {

using Lines = std::vector<std::string>;

TEST(FormatCount, GroupsThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(123456), "123,456");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(9007199254740992.0), "9,007,199,254,740,992");
}

TEST(FormatCount, AFractionNeverLooksWhole) {
  EXPECT_EQ(format_count(1234.5), "1,234.5");
  EXPECT_EQ(format_count(1234.56), "1,234.6");
  EXPECT_EQ(format_count(0.04), "0.04");
  EXPECT_EQ(format_count(999.96), "999.96");
  EXPECT_EQ(format_count(-95.0 / 24), "-3.96");
  EXPECT_EQ(format_count(4.0004), "4.0004");
}

TEST(FormatCount, NeverClaimsDigitsThatADoubleLacks) {
  EXPECT_EQ(format_count(1e300), "1.000000e+300");
  EXPECT_EQ(format_count(std::nan("")), "-");
  EXPECT_EQ(format_count(std::numeric_limits<double>::infinity()), "-");
}

TEST(FormatDuration, PicksTheUnit) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(0.0412), "0.041 s");
  EXPECT_EQ(format_duration(0.5), "0.5 s");
  EXPECT_EQ(format_duration(0.9999), "1.0 s");
  EXPECT_EQ(format_duration(12.34), "12.3 s");
  EXPECT_EQ(format_duration(59.96), "1 min 00 s");
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(3720), "1 h 02 min");
  EXPECT_EQ(format_duration(-1), "-");
}

TEST(FormatPlural, CountsOne) {
  EXPECT_EQ(format_plural(0, "variant"), "0 variants");
  EXPECT_EQ(format_plural(1, "variant"), "1 variant");
  EXPECT_EQ(format_plural(2000, "variant"), "2,000 variants");
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("größe"), 5u);
  EXPECT_EQ(display_width("矩阵"), 4u);
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);  // e and a combining acute accent
  EXPECT_EQ(display_width("🔥"), 2u);
  EXPECT_EQ(display_width("\u0915\u0941"), 1u);  // a Devanagari letter and its vowel sign
  EXPECT_EQ(display_width("a\u200Bb"), 2u);      // a zero-width space
}

TEST(DisplayWidth, CountsAColumnForAnInvalidByte) {
  EXPECT_EQ(display_width("\xFF\xFE"), 2u);
  EXPECT_EQ(display_width("a\xC3"), 2u);             // truncated
  EXPECT_EQ(display_width("\xC0\x80"), 2u);          // overlong
  EXPECT_EQ(display_width("\xED\xA0\x80"), 3u);      // a surrogate
  EXPECT_EQ(display_width("\xF4\x90\x80\x80"), 4u);  // beyond Unicode
}

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(printable("\x1b[31mred"), "\uFFFD[31mred");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(printable("\x7F\xC2\x9B"), "\uFFFD\uFFFD");
  EXPECT_EQ(printable("\xFF"), "\uFFFD");
  EXPECT_EQ(printable("\u202Eabc"), "\uFFFDabc");
  EXPECT_EQ(printable("größe 矩阵"), "größe 矩阵");
}

TEST(VisibleControls, AreCodes) {
  const auto message = [](std::string_view text) { return with_visible_controls(text, false); };
  EXPECT_EQ(message("a\tb\nc\r\n"), "a\tb\nc\n");
  EXPECT_EQ(message("\x1b[31mred\x07\r"), "\\x1b[31mred\\x07\\x0d");
  EXPECT_EQ(message("\xC2\x9B"
                    "1m \x9B \xE2\x80\xAE"),
            "\\xc2\\x9b1m \\x9b \\xe2\\x80\\xae");
  EXPECT_EQ(message("\xC2\xB5s \xE2\x94\x80"), "\xC2\xB5s \xE2\x94\x80");
}

TEST(VisibleControls, OurStylesStayOnRequest) {
  for (const Style style :
       {Style::kHeading, Style::kDim, Style::kGood, Style::kBad, Style::kWarning}) {
    const std::string text = styled("a", style, true);
    EXPECT_EQ(with_visible_controls(text, true), text);
    EXPECT_FALSE(with_visible_controls(text, false).starts_with('\x1b'));
  }
  EXPECT_EQ(with_visible_controls("\x1b[2J\x1b]0;title\x07", true), "\\x1b[2J\\x1b]0;title\\x07");
}

TEST(Printable, KeepsLinesOnRequest) {
  EXPECT_EQ(printable("a\r\nb\tc"), "a b c");
  EXPECT_EQ(printable("a\r\nb\tc", true), "a\nb       c");
}

TEST(Shorten, KeepsWhatFits) {
  EXPECT_EQ(shorten_end("matmul", 6), "matmul");
  EXPECT_EQ(shorten_middle("matmul", 6), "matmul");
  EXPECT_EQ(shorten_end("matmul", 0), "");
  EXPECT_EQ(shorten_middle("matmul", 0), "");
}

TEST(Shorten, MarksTheCut) {
  EXPECT_EQ(shorten_end("matmul/mm", 5), "matm…");
  EXPECT_EQ(shorten_middle("matmul/mm n=64", 9), "matm…n=64");
  EXPECT_EQ(shorten_middle("matmul", 1), "…");
}

TEST(Shorten, NeverExceedsTheWidthNorCutsACharacter) {
  std::string text =
      "矩阵/größe/e\xCC\x81"
      "e\xCC\x81/matmul/🔥🔥/n=64";
  for (std::size_t width = 0; width < 40; ++width) {
    for (const std::string& cut : {shorten_middle(text, width), shorten_end(text, width)}) {
      EXPECT_LE(display_width(cut), width) << cut;
      EXPECT_EQ(printable(cut), cut);
    }
  }
}

TEST(Pad, CountsColumnsNotBytes) {
  EXPECT_EQ(pad_left("größe", 7), "  größe");
  EXPECT_EQ(pad_right("矩阵", 5), "矩阵 ");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 0), (Lines{"one two three"}));
  EXPECT_EQ(wrap("a\n\nb\n", 10), (Lines{"a", "", "b"}));
}

TEST(Wrap, KeepsIndentationAndLongWords) {
  EXPECT_EQ(wrap("  one two", 5), (Lines{"  one", "  two"}));
  EXPECT_EQ(wrap("at /a/long/path.toml:3", 8), (Lines{"at", "/a/long/path.toml:3"}));
  // An indentation of most of the width is dropped.
  EXPECT_EQ(wrap("      one two", 8), (Lines{"one two"}));
}

TEST(Wrap, LeavesNoTrailingSpaces) {
  EXPECT_EQ(wrap("one   ", 10), (Lines{"one"}));
  EXPECT_EQ(wrap("one   two   ", 5), (Lines{"one", "two"}));
  EXPECT_EQ(wrap("     ", 2), (Lines{""}));
}

TEST(PlainLine, HasOnlyCharactersThatCanBeSeen) {
  for (const char* text : {"", "matmul/mm n=64", "größe/矩阵", "e\u0301"}) {
    EXPECT_TRUE(is_plain_line(text)) << text;
  }
  for (const char* text :
       {"a\nb", "a\tb", "\x1B[1m", "\xFF", "a\u202Eb", "a\u200Bb", "a\u00ADb", "\uFEFFa"}) {
    EXPECT_FALSE(is_plain_line(text)) << text;
  }
}

}  // namespace
}  // namespace instr::format_test
