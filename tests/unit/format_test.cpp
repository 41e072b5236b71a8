#include "core/base/format.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/base/near_match.h"
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

// --- Near matches ---

TEST(EditDistance, CountsEditsAndSwapsAsOne) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("label", "label"), 0u);
  EXPECT_EQ(edit_distance("label", "labels"), 1u);
  EXPECT_EQ(edit_distance("label", "lebel"), 1u);
  EXPECT_EQ(edit_distance("label", "lable"), 1u);  // a swap
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);  // 2 would edit a stretch twice
}

const std::vector<std::string> kKeys{"label", "stmt", "stmts", "setup", "use", "global_setup"};

TEST(Nearest, FindsTheNearestWord) {
  EXPECT_EQ(nearest("lable", kKeys), "label");
  EXPECT_EQ(nearest("LABEL", kKeys), "label");
  EXPECT_EQ(nearest("stmtss", kKeys), "stmts");
  EXPECT_EQ(nearest("global", kKeys), "global_setup");
  EXPECT_EQ(nearest("globalsetup", kKeys), "global_setup");
}

TEST(Nearest, FindsNothingIfNothingIsNear) {
  EXPECT_EQ(nearest("zebra", kKeys), std::nullopt);
  EXPECT_EQ(nearest("", kKeys), std::nullopt);
  EXPECT_EQ(nearest("x", kKeys), std::nullopt);
  EXPECT_EQ(nearest("label", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'l'), {std::string(100'000, 'l')}), std::nullopt);
}

TEST(NearMatches, SortsByDistanceAndLooksAtParts) {
  const std::vector<std::string> labels{"conv/large", "matmul/mm", "matmul/bmm", "matmull"};
  EXPECT_EQ(near_matches("matmul", labels, 5),
            (std::vector<std::string>{"matmul/mm", "matmul/bmm", "matmull"}));
  EXPECT_EQ(near_matches("matnul/mm", labels, 2),
            (std::vector<std::string>{"matmul/mm", "matmul/bmm"}));
  EXPECT_EQ(near_matches("matmul", labels, 1).size(), 1u);
  EXPECT_TRUE(near_matches("softmax", labels, 5).empty());
}

TEST(DidYouMean, SuggestsTheNearestOrListsAll) {
  EXPECT_EQ(did_you_mean("cpy", {"cpu", "cuda"}), "did you mean `cpu`?");
  EXPECT_EQ(did_you_mean("tpu0", {"cpu", "cuda"}), "known: `cpu`, `cuda`");
}

TEST(DidYouMean, CutsALongList) {
  std::vector<std::string> known;
  for (int i = 0; i < 500; ++i) known.push_back("matmul/mm/n=" + std::to_string(i) + "/eager");
  std::string advice = did_you_mean("nosuch", known);
  EXPECT_LT(advice.size(), 1500U);
  EXPECT_TRUE(advice.ends_with("`matmul/mm/n=39/eager` and 460 more")) << advice;
}

// --- The terminal ---

EnvironmentLookup environment_of(std::map<std::string, std::string> values) {
  return [values](const std::string& name) -> std::optional<std::string> {
    auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

bool in_auto(bool is_terminal, std::map<std::string, std::string> values) {
  return use_color(ColorMode::kAuto, is_terminal, environment_of(std::move(values)));
}

TEST(Color, TheOptionDecidesAlone) {
  auto environment = environment_of({{"NO_COLOR", "1"}, {"TERM", "dumb"}});
  EXPECT_TRUE(use_color(ColorMode::kAlways, false, environment));
  environment = environment_of({{"CLICOLOR_FORCE", "1"}, {"TERM", "xterm"}});
  EXPECT_FALSE(use_color(ColorMode::kNever, true, environment));
}

TEST(Color, FollowsTheTerminal) {
  EXPECT_TRUE(in_auto(true, {{"TERM", "xterm"}}));
  EXPECT_FALSE(in_auto(false, {{"TERM", "xterm"}}));
  EXPECT_FALSE(in_auto(true, {{"TERM", "dumb"}}));
  EXPECT_FALSE(in_auto(true, {}));
}

TEST(Color, FollowsTheEnvironment) {
  EXPECT_FALSE(in_auto(true, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_TRUE(in_auto(true, {{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  EXPECT_TRUE(in_auto(false, {{"CLICOLOR_FORCE", "1"}}));
  EXPECT_FALSE(in_auto(false, {{"CLICOLOR_FORCE", "0"}}));
  EXPECT_FALSE(in_auto(false, {{"CLICOLOR_FORCE", ""}}));
  EXPECT_FALSE(in_auto(false, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}));
  EXPECT_FALSE(in_auto(true, {{"TERM", "xterm"}, {"CLICOLOR", "0"}}));
}

TEST(Terminal, APipeHasNoWidthAndIsNotLive) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto environment = environment_of({{"TERM", "xterm"}, {"COLUMNS", "50"}});
  Terminal terminal = inspect_terminal(ends[1], ColorMode::kAlways, environment);
  EXPECT_FALSE(terminal.is_terminal);
  EXPECT_FALSE(terminal.live);
  EXPECT_TRUE(terminal.color);
  EXPECT_EQ(terminal.width, 0);
  EXPECT_EQ(terminal_width(ends[1], environment), 50);
  EXPECT_EQ(terminal_width(ends[1], environment_of({{"COLUMNS", "wide"}})), 80);
  EXPECT_EQ(terminal_width(ends[1], environment_of({{"COLUMNS", "-3"}})), 80);
  EXPECT_EQ(terminal_width(ends[1], environment_of({{"COLUMNS", "80x"}})), 80);
  close(ends[0]);
  close(ends[1]);
}

TEST(Styled, OnlyWithColor) {
  EXPECT_EQ(styled("text", Style::kBad, false), "text");
  EXPECT_EQ(styled("text", Style::kBad, true), "\x1b[31mtext\x1b[0m");
  EXPECT_EQ(styled("", Style::kBad, true), "");
}

}  // namespace
}  // namespace instr::format_test
