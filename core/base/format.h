// Values and text as people read them: numbers, durations, and text that fits its columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

// 1234567 -> "1,234,567"; all digits if integral, else with one decimal. "-" if not finite.
std::string format_count(double value);

// Seconds -> "0.04 s", "12.3 s", "2 min 05 s", "1 h 02 min".
std::string format_duration(double seconds);

// Nanoseconds -> "3.21 ns", "12.3 µs", "123 ms", "1.23 s": three digits.
std::string format_time(double nanoseconds);

// "1 variant", "2 variants", "2,000 variants".
std::string format_plural(std::size_t count, std::string_view noun);

// "a, b, c and 12 more": printable text of the first three items.
std::string list_some(const std::vector<std::string>& items);

// The bytes of the UTF-8 character at the start of `text`, which is not empty; 0 if it is invalid.
std::size_t utf8_length(std::string_view text);

// The columns of UTF-8 text on a terminal: 2 for wide characters, 0 for combining ones, 1 for a
// byte that is not UTF-8. The text has no control characters.
std::size_t display_width(std::string_view text);

// Text that is safe to show: control characters (escape sequences too) and bytes that are not UTF-8
// become U+FFFD; a tab becomes spaces; a newline stays if `lines` is true, else becomes a space.
std::string printable(std::string_view text, bool lines = false);

// Text for a terminal, line by line: characters that printable() replaces, but for newlines and
// tabs, become their codes ("\x1b"), so that a name in it cannot move the cursor or change colours.
// `keeps_styles`: the escape sequences of styled() stay.
std::string with_visible_controls(std::string_view text, bool keeps_styles);

// Printable text without characters that XML 1.0 forbids; not escaped.
std::string printable_xml(std::string_view text, bool lines = false);

// True for a single line of visible characters and combining marks: no newline, no tab, no other
// invisible character, and nothing that printable() replaces.
bool is_plain_line(std::string_view text);

// `text` cut to at most `width` columns, the cut marked by "…" at its end, or in its middle (so
// that both ends of a label stay).
std::string shorten_end(std::string_view text, std::size_t width);
std::string shorten_middle(std::string_view text, std::size_t width);

// `text` filled with spaces to `width` columns.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

// The lines of `text`, each at most `width` columns (0: no limit), broken at spaces; a word longer
// than that (a path, a key) stays whole, so that it can be copied. Indentation is kept.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace instr
