#include "core/report/document_columns.h"

#include <algorithm>

#include "core/base/format.h"

namespace instr {

namespace {

constexpr std::size_t kRowIndent = 2;
constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

using ColumnNumbers = std::vector<std::size_t>;

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

TableLine make_line(const std::vector<DocumentCell>& cells, const ColumnNumbers& shown,
                    std::size_t indent) {
  TableLine line{.indent = indent};
  for (const std::size_t i : shown) line.cells.push_back({cells[i].text, cells[i].tone});
  return line;
}

std::size_t end_of_group(const std::vector<DocumentRow>& rows, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < rows.size() && !rows[begin].group.empty() && rows[end].group == rows[begin].group) {
    ++end;
  }
  return end;
}

// Makes of a group of one row a line with its full name, if that takes at most `max_flat` columns;
// of other groups a heading and indented rows.
Table make_columns(const DocumentTable& table, const ColumnNumbers& shown,
                   const RenderOptions& options, std::size_t max_flat = kAnyWidth) {
  Table made{.columns = {},
             .headings = table.headings,
             .min_name = table.has_keys ? kAnyWidth : table.min_name};
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
      made.lines.push_back(make_line(rows[i].cells, shown, is_flat ? 0 : kRowIndent));
      if (!is_flat) made.lines.back().cells.front().text = rows[i].name;
      for (const auto& part : rows[i].parts) {
        made.lines.push_back(make_line(part, shown, kRowIndent));
      }
      if (!rows[i].lines.empty()) made.lines.push_back({.text = rows[i].lines});
    }
  }
  return made;
}

// Makes columns in which names may be shortened, and those of a tall table stand above their rows.
std::optional<Table> make_fitting(const DocumentTable& table, const ColumnNumbers& shown,
                                  const RenderOptions& options) {
  Table made = make_columns(table, shown, options);
  if (table.shortens_last) shorten_last(made, options.width);
  const TableLayout layout = make_layout(made);
  if (table.is_tall && options.width != 0 && layout.total() > options.width) {
    const std::size_t left = options.width - std::min(options.width, layout.beside_first());
    made = make_columns(table, shown, options, table.has_keys ? 0 : left);
  }
  if (!narrow(made, options.width)) return std::nullopt;
  return made;
}

}  // namespace

std::optional<TextColumns> fit_columns(const DocumentTable& table, const RenderOptions& options) {
  ColumnNumbers shown = visible_columns(table);
  for (;;) {
    if (auto made = make_fitting(table, shown, options)) return TextColumns{shown, *made};
    const auto spare = std::find_if(shown.rbegin(), shown.rend(),
                                    [&table](std::size_t i) { return table.columns[i].is_spare; });
    if (spare == shown.rend()) return std::nullopt;
    shown.erase(std::next(spare).base());
  }
}

TextColumns lay_out_necessary(const DocumentTable& table, const RenderOptions& options) {
  ColumnNumbers shown = visible_columns(table);
  std::erase_if(shown, [&table](std::size_t i) { return table.columns[i].is_spare; });
  Table made = make_columns(table, shown, {.width = 0, .color = options.color});
  return {std::move(shown), std::move(made)};
}

std::size_t columns_width(const DocumentTable& table) {
  return make_layout(make_columns(table, visible_columns(table), {})).total();
}

}  // namespace instr
