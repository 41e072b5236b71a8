#include "core/base/table.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/format.h"
#include "core/base/output.h"

namespace instr {

namespace {

constexpr std::size_t kGap = 2;
constexpr const char* kRule = "\xE2\x94\x80";  // U+2500, a horizontal line

std::string rule(std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += kRule;
  return text;
}

// A line of the output; trailing spaces are never written.
class Line {
 public:
  explicit Line(std::string& out) : out_(out) {}
  ~Line() { out_ += "\n"; }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // Adds text aligned in `columns`, not counting its escape sequences.
  void put(const TableCell& cell, std::size_t columns, Align align, bool color) {
    std::size_t width = display_width(cell.text);
    std::size_t free = width < columns ? columns - width : 0;
    if (align == Align::kRight) pending_ += free;
    if (width > 0) {
      out_ += std::string(pending_, ' ') + toned(cell.text, cell.tone, color);
      pending_ = 0;
    }
    if (align == Align::kLeft) pending_ += free;
  }

  void gap(std::size_t columns) { pending_ += columns; }

 private:
  std::string& out_;
  std::size_t pending_ = 0;
};

// Neighbouring columns that share a title; any other column is a span by itself.
struct Span {
  std::size_t first;
  std::size_t count;
  std::string title;  // " instructions "; "" if there is none
};

std::vector<Span> find_spans(const std::vector<TableColumn>& columns) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::string title = columns[i].span.empty() ? "" : " " + columns[i].span + " ";
    if (!spans.empty() && !title.empty() && spans.back().title == title) {
      ++spans.back().count;
    } else {
      spans.push_back({i, 1, title});
    }
  }
  return spans;
}

std::size_t span_width(const TableLayout& layout, const Span& span) {
  std::size_t sum = (span.count - 1) * kGap;
  for (std::size_t i = 0; i < span.count; ++i) sum += layout.columns[span.first + i];
  return sum;
}

// "---- instructions ----"
std::string title_text(const std::string& title, std::size_t width) {
  if (title.empty()) return "";
  if (width < title.size() + 2) return title.substr(1, title.size() - 2);
  std::size_t left = (width - title.size()) / 2;
  return rule(left) + title + rule(width - title.size() - left);
}

class Printer {
 public:
  Printer(const Table& table, const TableLayout& layout, bool color)
      : table_(table), layout_(layout), color_(color) {}

  std::string text() {
    if (table_.headings != Headings::kNone) headings();
    for (const TableLine& line : table_.lines) {
      out_ += line.text;
      if (!line.cells.empty()) cells(line);
    }
    return std::move(out_);
  }

 private:
  void headings() {
    titles();
    for (std::size_t i = 0; i < layout_.heading_lines; ++i) {
      if (table_.headings == Headings::kStyled) {
        std::string plain;
        heading_line(plain, i);
        plain.pop_back();  // the newline
        out_ += styled(plain, Style::kHeading, color_) + "\n";
      } else {
        heading_line(out_, i);
      }
    }
    if (table_.headings != Headings::kRuled) return;
    out_ += toned(rule(layout_.total()), Tone::kDim, color_) + "\n";
  }

  void titles() {
    auto spans = find_spans(table_.columns);
    if (std::ranges::all_of(spans, &std::string::empty, &Span::title)) return;
    Line line(out_);
    for (const Span& span : spans) {
      if (span.first > 0) line.gap(kGap);
      std::size_t width = span_width(layout_, span);
      line.put({title_text(span.title, width), Tone::kDim}, width, Align::kRight, color_);
    }
  }

  void heading_line(std::string& out, std::size_t number) const {
    Line line(out);
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      auto lines = wrap(table_.columns[i].heading, 0);
      std::size_t first = layout_.heading_lines - lines.size();
      if (i > 0) line.gap(kGap);
      line.put({number < first ? "" : lines[number - first]}, layout_.columns[i],
               table_.columns[i].align, color_);
    }
  }

  void cells(const TableLine& row) {
    Line line(out_);
    line.gap(row.indent);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (i > 0) line.gap(kGap);
      const std::size_t width = layout_.columns[i] - (i == 0 ? row.indent : 0);
      line.put(row.cells[i], width, table_.columns[i].align, color_);
    }
  }

  const Table& table_;
  const TableLayout& layout_;
  bool color_;
  std::string out_;
};

// Shortens the first cells of lines to at most `width` columns, those of each indent together.
void shorten_first(Table& table, std::size_t width) {
  std::map<std::size_t, std::vector<TableCell*>> by_indent;
  for (TableLine& line : table.lines) {
    if (!line.cells.empty()) by_indent[line.indent].push_back(&line.cells.front());
  }
  for (const auto& [indent, cells] : by_indent) {
    std::vector<std::string> names;
    for (const TableCell* cell : cells) names.push_back(cell->text);
    names = shorten_apart(names, width - std::min(width, indent));
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i]->text = names[i];
  }
}

}  // namespace

std::string toned(const std::string& text, Tone tone, bool color) {
  switch (tone) {
    case Tone::kPlain: break;
    case Tone::kGood: return styled(text, Style::kGood, color);
    case Tone::kWarning: return styled(text, Style::kWarning, color);
    case Tone::kBad: return styled(text, Style::kBad, color);
    case Tone::kDim: return styled(text, Style::kDim, color);
  }
  return text;
}

std::size_t TableLayout::total() const {
  std::size_t sum = 0;
  for (std::size_t width : columns) sum += kGap + width;
  return sum - std::min(sum, kGap);
}

TableLayout make_layout(const Table& table) {
  TableLayout layout;
  for (const TableColumn& column : table.columns) {
    auto lines = wrap(column.heading, 0);
    layout.heading_lines = std::max(layout.heading_lines, lines.size());
    std::size_t width = column.min;
    for (const std::string& line : lines) width = std::max(width, display_width(line));
    layout.columns.push_back(width);
  }
  for (const TableLine& line : table.lines) {
    std::size_t indent = line.indent;
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      layout.columns[i] = std::max(layout.columns[i], indent + display_width(line.cells[i].text));
      indent = 0;
    }
  }
  for (const Span& span : find_spans(table.columns)) {
    std::size_t width = span_width(layout, span);
    std::size_t min = span.title.empty() ? 0 : display_width(span.title) - 2;
    if (width < min) layout.columns[span.first] += min - width;
  }
  return layout;
}

std::size_t path_width(std::size_t width) {
  constexpr std::size_t kMin = 25;
  return width == 0 ? std::string::npos : std::max(width / 3, kMin);
}

void shorten_last(Table& table, std::size_t width) {
  constexpr std::size_t kMin = 20;
  if (width == 0) return;
  const TableLayout layout = make_layout(table);
  const std::size_t taken = layout.total() - layout.columns.back();
  const std::size_t left = std::max(width, taken + kMin) - taken;
  for (TableLine& line : table.lines) {
    if (line.cells.empty()) continue;
    std::string& text = line.cells.back().text;
    text = shorten_end(text, left);
  }
}

bool narrow(Table& table, std::size_t width) {
  const TableLayout layout = make_layout(table);
  if (width == 0 || layout.total() <= width) return true;
  const std::size_t min = std::min(layout.columns.front(), table.min_name);
  if (layout.beside_first() + min > width) return false;
  table.columns.front().min = width - layout.beside_first();
  shorten_first(table, table.columns.front().min);
  return true;
}

std::string table_text(const Table& table, bool color) {
  return Printer(table, make_layout(table), color).text();
}

std::optional<std::string> table_text(Table table, std::size_t width, bool color) {
  if (!narrow(table, width)) return std::nullopt;
  return table_text(table, color);
}

namespace {

constexpr const char* kCut = "…";
constexpr std::size_t kMinTail = 4;  // columns; a shorter common end tells nothing

// Parts of a name are never cut within, as in "heads=16".
bool is_separator(char c) { return c == '/' || c == ' '; }

// The bytes that all names begin with, up to the end of a part.
std::size_t common_start(const std::vector<std::string>& names) {
  std::size_t same = common_prefix(names);
  while (same > 0 && !is_separator(names.front()[same - 1])) --same;
  return same;
}

// The bytes behind `start` that all names end with, from the beginning of a part.
std::size_t common_end(const std::vector<std::string>& names, std::size_t start) {
  const std::string& first = names.front();
  std::size_t same = first.size() - start;
  for (const std::string& name : names) {
    std::size_t count = 0;
    while (count < std::min(same, name.size() - start) &&
           first[first.size() - 1 - count] == name[name.size() - 1 - count]) {
      ++count;
    }
    same = count;
  }
  while (same > 0 && !is_separator(first[first.size() - same])) --same;
  return same;
}

// Keeps the last `width` columns of a text, at least one column.
std::string shorten_start(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  const std::string cut = shorten_middle(text, 2 * width - 1);
  return cut.substr(std::min(cut.find(kCut), cut.size()));
}

// Shortens names, each longer than `width` columns, to the parts in which they differ.
std::vector<std::string> distinguished(const std::vector<std::string>& names, std::size_t width) {
  const std::size_t start = common_start(names);
  const std::size_t end = common_end(names, start);
  const std::size_t cuts = (start > 0 ? 1 : 0) + (end > 0 ? 1 : 0);
  std::vector<std::string> own;
  if (cuts == 0 || width <= cuts) {
    for (const std::string& name : names) own.push_back(shorten_middle(name, width));
    return own;
  }
  for (const std::string& name : names) {
    own.push_back(name.substr(start, name.size() - start - end));
  }
  own = shorten_apart(own, width - cuts);
  std::vector<std::string> shortened;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t left = width - display_width(own[i]);
    std::string tail = names[i].substr(names[i].size() - end);
    if (!tail.empty()) tail = shorten_start(tail, left / 2 < kMinTail ? 1 : left / 2);
    std::string head = names[i].substr(0, start);
    if (!head.empty()) head = shorten_end(head, left - display_width(tail));
    shortened.push_back(head + own[i] + tail);
  }
  return shortened;
}

}  // namespace

std::size_t common_prefix(const std::vector<std::string>& texts) {
  const std::string& first = texts.front();
  std::size_t same = first.size();
  for (const std::string& text : texts) {
    const auto end = std::mismatch(first.begin(), first.end(), text.begin(), text.end()).first;
    same = std::min(same, static_cast<std::size_t>(end - first.begin()));
  }
  return same;
}

std::vector<std::string> shorten_apart(const std::vector<std::string>& names, std::size_t width) {
  std::map<std::string, std::set<std::string>> by_short;
  for (const std::string& name : names) by_short[shorten_middle(name, width)].insert(name);
  std::map<std::string, std::string> shorts;
  for (const auto& [text, same] : by_short) {
    const std::vector<std::string> equal(same.begin(), same.end());
    const auto texts = equal.size() == 1 ? std::vector{text} : distinguished(equal, width);
    for (std::size_t i = 0; i < equal.size(); ++i) shorts[equal[i]] = texts[i];
  }
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(shorts[name]);
  return out;
}

}  // namespace instr
