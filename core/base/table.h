// Text in columns, for every printed table. A table too wide for the terminal has its first column
// shortened; if that is not enough, the caller shows it in another way.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace instr {

// Columns for long names if the output is no terminal.
inline constexpr std::size_t kPipeWidth = 120;

enum class Tone { kPlain, kGood, kWarning, kBad, kDim };

// Puts the text between the escape sequences of its tone; without colour it stays as it is.
std::string toned(const std::string& text, Tone tone, bool color);

struct TableCell {
  std::string text;
  Tone tone = Tone::kPlain;
};

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string heading = {};  // lines, the last one directly above the rule
  Align align = Align::kRight;
  std::size_t min = 0;    // minimum width in terminal columns
  std::string span = {};  // a title above it and its neighbours with the same title
};

struct TableLine {
  std::vector<TableCell> cells = {};  // one for each column
  std::size_t indent = 0;             // columns before the first cell
  std::string text = {};              // lines printed between rows as they are, instead of cells
};

enum class Headings {
  kNone,
  kPlain,
  kStyled,  // the style of headings
  kRuled,   // a line below the headings
};

struct Table {
  std::vector<TableColumn> columns;
  std::vector<TableLine> lines = {};
  Headings headings = Headings::kRuled;
  // The first column is not shortened below this.
  std::size_t min_name = 20;
};

// Columns of a terminal, without escape sequences.
struct TableLayout {
  std::vector<std::size_t> columns;
  std::size_t heading_lines = 1;

  std::size_t total() const;  // the total with the gaps between columns
  std::size_t beside_first() const { return total() - columns.front(); }
};

TableLayout make_layout(const Table& table);

// The columns that a path beside other text may take of `width` (0: no limit).
std::size_t path_width(std::size_t width);

// Shortens the texts of the last column to what `width` (0: no limit) leaves for them, but at least
// to 20 columns.
void shorten_last(Table& table, std::size_t width);

// Shortens the first column so that the table takes at most `width` columns (0: no limit). Returns
// false, and leaves the table as it is, if that is too narrow.
bool narrow(Table& table, std::size_t width);

// Prints the table. No line ends in spaces.
std::string table_text(const Table& table, bool color);
// As narrow(), then table_text(); nothing if that is too narrow.
std::optional<std::string> table_text(Table table, std::size_t width, bool color);

// Shortens the names of a table so that they still differ.

// The length in bytes of the common prefix of one or more texts.
std::size_t common_prefix(const std::vector<std::string>& texts);

// Shortens each name to at most `width` columns, in the middle (as shorten_middle() does).
// Different names that would become equal lose their common parts instead, and keep the parts in
// which they differ: "layers/…/n=64/…cpu".
std::vector<std::string> shorten_apart(const std::vector<std::string>& names, std::size_t width);

}  // namespace instr
