// Documents as text for a terminal. Tables have columns if these fit, else a line for each value.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/definitions/metrics.h"
#include "core/report/formats.h"

namespace instr {

namespace {

constexpr std::size_t kRowIndent = 2;
constexpr std::size_t kStackedWidth = 44;  // in wider lines numbers are too far from their names
constexpr std::size_t kMessageLines = 40;  // the rest of a message is in the results file
constexpr std::size_t kMessageIndent = 4;
constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

using ColumnNumbers = std::vector<std::size_t>;

std::string spaces(std::size_t count) { return std::string(count, ' '); }

ColumnNumbers visible_columns(const DocumentTable& table) {
  ColumnNumbers shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].is_hidden) shown.push_back(i);
  }
  return shown;
}

// Puts the first word of a number's heading on a separate line.
TableColumn make_column(const DocumentTable& table, const DocumentColumn& column) {
  TableColumn made{.heading = column.heading, .align = column.align, .span = column.span};
  const std::size_t space = made.heading.find(' ');
  const bool is_number = column.align == Align::kRight && table.headings == Headings::kRuled;
  if (is_number && space != std::string::npos) made.heading[space] = '\n';
  return made;
}

TableLine make_line(const DocumentRow& row, const ColumnNumbers& shown, bool is_flat) {
  TableLine line{.indent = is_flat ? 0 : kRowIndent};
  for (const std::size_t i : shown) line.cells.push_back({row.cells[i].text, row.cells[i].tone});
  if (!is_flat) line.cells.front().text = row.name;
  return line;
}

std::size_t end_of_group(const std::vector<DocumentRow>& rows, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < rows.size() && !rows[begin].group.empty() && rows[end].group == rows[begin].group) {
    ++end;
  }
  return end;
}

// Prints a group of one row as a line with its full name, if that takes at most `max_flat` columns;
// other groups as a heading and indented rows.
Table make_columns(const DocumentTable& table, const ColumnNumbers& shown,
                   const RenderOptions& options, std::size_t max_flat = kAnyWidth) {
  Table made{.columns = {}, .headings = table.headings};
  if (table.has_keys) made.min_name = kAnyWidth;
  for (const std::size_t i : shown) made.columns.push_back(make_column(table, table.columns[i]));
  const std::vector<DocumentRow>& rows = table.rows;
  bool is_after_group = false;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    end = end_of_group(rows, begin);
    const DocumentRow& first = rows[begin];
    const bool is_flat = first.group.empty() ||
                         (end - begin == 1 && display_width(first.cells.front().text) <= max_flat);
    std::string between = !made.lines.empty() && (is_after_group || !is_flat) ? "\n" : "";
    is_after_group = !is_flat;
    if (!is_flat) {
      const bool is_whole = options.width == 0 || table.has_keys;
      const std::string name = is_whole ? first.group : shorten_middle(first.group, options.width);
      between += styled(name, Style::kHeading, options.color) + "\n";
    }
    made.lines.push_back({.text = between});
    for (std::size_t i = begin; i < end; ++i) {
      made.lines.push_back(make_line(rows[i], shown, is_flat));
      if (!rows[i].lines.empty()) made.lines.push_back({.text = rows[i].lines});
    }
  }
  return made;
}

std::optional<std::string> print_table(const DocumentTable& table, const ColumnNumbers& shown,
                                       const RenderOptions& options) {
  Table made = make_columns(table, shown, options);
  if (table.shortens_last) shorten_last(made, options.width);
  if (!table.is_tall) return table_text(made, options.width, options.color);
  const TableLayout layout = make_layout(made);
  if (options.width != 0 && layout.total() > options.width) {
    const std::size_t left = options.width - std::min(options.width, layout.beside_first());
    made = make_columns(table, shown, options, table.has_keys ? 0 : left);
  }
  return table_text(made, options.width, options.color);
}

// The text in columns, or nothing if that is too wide. Removes as many spare columns from `shown`
// as needed.
std::optional<std::string> fitting_text(const DocumentTable& table, ColumnNumbers& shown,
                                        const RenderOptions& options) {
  for (;;) {
    if (auto text = print_table(table, shown, options)) return text;
    const auto spare = std::find_if(shown.rbegin(), shown.rend(),
                                    [&table](std::size_t i) { return table.columns[i].is_spare; });
    if (spare == shown.rend()) return std::nullopt;
    shown.erase(std::next(spare).base());
  }
}

std::string right_aligned(const DocumentCell& cell, std::size_t columns, bool color) {
  const std::size_t width = display_width(cell.text);
  return spaces(columns - std::min(columns, width)) + toned(cell.text, cell.tone, color) + "\n";
}

// Puts a value on the line of its name, or below it if both do not fit.
std::string stacked_value(const std::string& heading, const DocumentCell& cell, std::size_t width,
                          bool color) {
  if (cell.text.empty()) return "";
  const std::size_t named = kRowIndent + display_width(heading);
  if (named + 1 + display_width(cell.text) <= width) {
    return spaces(kRowIndent) + heading + right_aligned(cell, width - named, color);
  }
  const std::size_t indent = width > kRowIndent ? kRowIndent : 0;
  return spaces(indent) + shorten_end(heading, width - indent) + "\n" +
         right_aligned(cell, width, color);
}

std::string stacked_text(const DocumentTable& table, const ColumnNumbers& shown,
                         const RenderOptions& options) {
  std::string out = wrapped(table.stacked_title, options.width, Style::kDim, options.color);
  for (const DocumentRow& row : table.rows) {
    const std::string& full = row.cells.front().text;
    const std::string name = table.has_keys ? full : shorten_middle(full, options.width);
    out += "\n" + styled(name, Style::kHeading, options.color) + "\n";
    for (const std::size_t i : shown) {
      if (i == 0) continue;
      out += stacked_value(full_heading(table.columns[i]), row.cells[i],
                           std::min(options.width, kStackedWidth), options.color);
    }
  }
  return out;
}

std::string table_block(const DocumentTable& table, const RenderOptions& options) {
  std::string out;
  if (!table.title.empty()) out = wrapped(table.title + ":", options.width, {}, options.color);
  ColumnNumbers shown = visible_columns(table);
  if (const auto text = fitting_text(table, shown, options)) return out + *text;
  if (table.too_wide == TooWide::kStacked) return out + stacked_text(table, shown, options);
  return out + *print_table(table, shown, {.width = 0, .color = options.color});
}

// `text` in indented lines of at most `width` columns.
std::string message_lines(const std::string& text, std::size_t indent, std::size_t width) {
  const std::vector<std::string> lines = wrap(text, width - std::min(width, indent));
  const std::size_t shown = lines.size() > kMessageLines ? kMessageLines - 1 : lines.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    out += lines[i].empty() ? "\n" : spaces(indent) + lines[i] + "\n";
  }
  if (shown == lines.size()) return out;
  return out + spaces(indent) + "(and " + format_plural(lines.size() - shown, "more line") + ")\n";
}

std::string list_text(const DocumentNote& note, std::size_t width) {
  const std::string start = note.title.empty() ? "" : note.title + ": ";
  const std::size_t shown = std::min(note.items.size(), note.max_items);
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += message_lines(start + note.items[i], 0, width);
  if (shown == note.items.size()) return out;
  return out + start + format_count(static_cast<double>(note.items.size() - shown)) + " more\n";
}

// Does not shorten keys, which are meant to be copied into a filter.
std::string failure_text(const DocumentNote& failure, const RenderOptions& options) {
  return fmt::format("{}: {}\n", fmt::join(failure.items, "\n"),
                     styled(failure.title, Style::kBad, options.color)) +
         (failure.text.empty() ? "" : message_lines(failure.text, kMessageIndent, options.width));
}

std::string note_text(const DocumentNote& note, const RenderOptions& options) {
  switch (note.kind) {
    case DocumentNote::Kind::kFootnote:
      return wrapped(note.text, options.width, Style::kDim, options.color);
    case DocumentNote::Kind::kList: return list_text(note, options.width);
    case DocumentNote::Kind::kFailure: return failure_text(note, options);
    case DocumentNote::Kind::kConclusion: break;
  }
  return wrapped(note.text, options.width, note.style, options.color);
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t width, std::optional<Style> style,
                    bool color) {
  std::string out;
  for (const std::string& line : wrap(text, width)) {
    out += (style ? styled(line, *style, color) : line) + "\n";
  }
  return out;
}

std::string full_heading(const DocumentColumn& column) {
  const bool is_usual = column.span.empty() || column.span == find_metric(kInstructions)->heading;
  return is_usual ? column.heading : column.span + " " + column.heading;
}

std::size_t columns_width(const DocumentTable& table) {
  return make_layout(make_columns(table, visible_columns(table), {})).total();
}

bool fits(const DocumentTable& table, std::size_t width) {
  ColumnNumbers shown = visible_columns(table);
  return fitting_text(table, shown, {.width = width}).has_value();
}

std::string render_text(const Document& document, const RenderOptions& options) {
  std::string out;
  const auto add = [&out](const std::string& block) { out += (out.empty() ? "" : "\n") + block; };
  if (!document.title.empty()) add(wrapped(document.title, options.width, {}, options.color));
  for (const DocumentTable& table : document.tables) add(table_block(table, options));
  for (std::size_t i = 0; i < document.notes.size(); ++i) {
    const DocumentNote& note = document.notes[i];
    const bool is_next_footnote = i > 0 && note.kind == DocumentNote::Kind::kFootnote &&
                                  document.notes[i - 1].kind == note.kind;
    if (is_next_footnote) {
      out += note_text(note, options);
    } else {
      add(note_text(note, options));
    }
  }
  return out;
}

}  // namespace instr
