// Edits of a text that leave the rest as it is, byte for byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

struct TextSpan {  // bytes [begin, end) of the text
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct TextEdit {
  TextSpan span;
  std::string text;  // replaces the span
};

// Of spans that do not overlap.
std::string edited(std::string_view text, std::vector<TextEdit> edits);

// The begin of the blank lines that end at `end`, which is the begin of a line.
std::size_t blank_begin(std::string_view text, std::size_t end);

// Removes these whole lines, and one of the two runs of blank lines around them if there are two.
std::vector<TextEdit> removals_of(std::string_view text, std::vector<TextSpan> lines);

// How the text ends its lines: "\r\n" or "\n".
std::string_view line_end_of(std::string_view text);

// Ends the last line, unless it is ended or there is none.
void end_last_line(std::string& text, std::string_view end);

}  // namespace instr
