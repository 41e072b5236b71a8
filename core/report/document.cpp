#include "core/report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/definitions/metrics.h"
#include "core/report/formats.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

std::string format_json(const DocumentCell& cell) {
  if (cell.is_text) return to_line(nlohmann::ordered_json(cell.value));
  return cell.value.empty() ? "null" : cell.value;
}

}  // namespace

DocumentCell text_cell(const std::string& text, const std::string& shown) {
  return {shown.empty() ? printable(text) : shown, Tone::kPlain, text, /*is_text=*/true};
}

DocumentCell number_cell(double number, const std::string& shown, Tone tone) {
  return {shown, tone, std::isfinite(number) ? to_line(json_number(number)) : ""};
}

DocumentCell count_cell(std::size_t count, Tone tone) {
  return {format_count(static_cast<double>(count)), tone, std::to_string(count)};
}

std::string csv_field(const nlohmann::ordered_json& object, const std::string& name) {
  const auto it = object.find(name);
  if (it == object.end() || it->is_null()) return "";
  return it->is_string() ? it->get<std::string>() : to_line(*it);
}

void add_records(Document& document, const DocumentTable& table) {
  for (const DocumentColumn& column : table.columns) document.fields.push_back(column.name);
  for (const DocumentRow& row : table.rows) {
    std::string members;
    std::vector<std::string> line;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      members += fmt::format("{}\"{}\":{}", members.empty() ? "" : ",", table.columns[i].name,
                             format_json(row.cells[i]));
      line.push_back(row.cells[i].value);
    }
    if (!row.more.empty()) members += "," + row.more;
    document.records.push_back({"{" + members + "}", {std::move(line)}});
  }
}

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

std::size_t columns_width(const DocumentTable& table) {
  return make_layout(make_columns(table, visible_columns(table), {})).total();
}

// Documents as text for a terminal. Tables have columns if these fit, else a line for each value.

namespace {

constexpr std::size_t kStackedIndent = 2;
constexpr std::size_t kStackedWidth = 44;  // wider lines put numbers too far from their names
constexpr std::size_t kMessageLines = 40;  // the rest of a message is in the results file
constexpr std::size_t kMessageIndent = 4;

// The text in lines of at most `width` columns (0: any), each in that style.
std::string wrapped(const std::string& text, std::size_t width, std::optional<Style> style,
                    bool color) {
  std::string out;
  for (const std::string& line : wrap(text, width)) {
    out += (style ? styled(line, *style, color) : line) + "\n";
  }
  return out;
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

std::string right_aligned(const DocumentCell& cell, std::size_t columns, bool color) {
  const std::size_t width = display_width(cell.text);
  return spaces(columns - std::min(columns, width)) + toned(cell.text, cell.tone, color) + "\n";
}

// Puts a value on the line of its name, or below it if both do not fit.
std::string stacked_value(const std::string& heading, const DocumentCell& cell, std::size_t width,
                          bool color) {
  if (cell.text.empty()) return "";
  const std::size_t named = kStackedIndent + display_width(heading);
  if (named + 1 + display_width(cell.text) <= width) {
    return spaces(kStackedIndent) + heading + right_aligned(cell, width - named, color);
  }
  const std::size_t indent = width > kStackedIndent ? kStackedIndent : 0;
  return spaces(indent) + shorten_end(heading, width - indent) + "\n" +
         right_aligned(cell, width, color);
}

std::string stacked_text(const DocumentTable& table, const std::vector<std::size_t>& shown,
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

// Lays out, in any width, the columns that are not spare.
TextColumns lay_out_necessary(const DocumentTable& table, const RenderOptions& options) {
  ColumnNumbers shown = visible_columns(table);
  std::erase_if(shown, [&table](std::size_t i) { return table.columns[i].is_spare; });
  Table made = make_columns(table, shown, {.width = 0, .color = options.color});
  return {std::move(shown), std::move(made)};
}

std::string table_block(const DocumentTable& table, const RenderOptions& options) {
  std::string out;
  if (!table.title.empty()) out = wrapped(table.title + ":", options.width, {}, options.color);
  if (const auto columns = fit_columns(table, options)) {
    return out + table_text(columns->table, options.color);
  }
  if (table.too_wide == TooWide::kNarrow) {
    for (const DocumentRow& row : table.rows) out += row.narrow;
    return out;
  }
  const TextColumns necessary = lay_out_necessary(table, options);
  if (table.too_wide == TooWide::kStacked) {
    return out + stacked_text(table, necessary.shown, options);
  }
  return out + table_text(necessary.table, options.color);
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
    case DocumentNote::Kind::kText: return note.text;
    case DocumentNote::Kind::kConclusion: break;
  }
  return wrapped(note.text, options.width, note.style, options.color);
}

}  // namespace

std::string full_heading(const DocumentColumn& column) {
  const bool is_usual = column.span.empty() || column.span == find_metric(kInstructions)->heading;
  return is_usual ? column.heading : column.span + " " + column.heading;
}

std::string render_text(const Document& document, const RenderOptions& options) {
  std::string out;
  const auto add = [&out](const std::string& block) { out += (out.empty() ? "" : "\n") + block; };
  if (!document.title.empty()) add(wrapped(document.title, options.width, {}, options.color));
  for (const DocumentTable& table : document.tables) add(table_block(table, options));
  for (std::size_t i = 0; i < document.notes.size(); ++i) {
    const DocumentNote& note = document.notes[i];
    const bool is_short =
        note.kind == DocumentNote::Kind::kFootnote || note.kind == DocumentNote::Kind::kConclusion;
    if (is_short && i > 0 && document.notes[i - 1].kind == note.kind) {
      out += note_text(note, options);
    } else {
      add(note_text(note, options));
    }
  }
  return out;
}

// Documents as GitHub-flavoured Markdown.

namespace {

// Escapes the characters that Markdown or HTML would interpret, for a cell or a line.
std::string markdown_text(const std::string& text) {
  static constexpr std::string_view kSpecial = "\\`*_~[]<>|&";
  std::string out;
  for (char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// A code block whose fence is longer than any run of backticks in it.
std::string code_block(const std::string& text) {
  std::size_t max = 2;
  for (std::size_t i = 0, run = 0; i < text.size(); ++i) {
    run = text[i] == '`' ? run + 1 : 0;
    max = std::max(max, run);
  }
  const std::string fence(max + 1, '`');
  return fence + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

// The visible columns, that of the names first.
std::vector<std::size_t> order_columns(const DocumentTable& table) {
  std::vector<std::size_t> order{table.name_column};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i != table.name_column && !table.columns[i].is_hidden) order.push_back(i);
  }
  return order;
}

// `text_of`: makes the text of a column.
template <class TextOf>
std::string line_markdown(const std::vector<std::size_t>& order, const TextOf& text_of) {
  std::string out = "|";
  for (const std::size_t i : order) {
    const std::string text = markdown_text(text_of(i));
    out += text.empty() ? " |" : " " + text + " |";
  }
  return out + "\n";
}

std::string headings_markdown(const DocumentTable& table) {
  const std::vector<std::size_t> order = order_columns(table);
  std::string out = line_markdown(order, [&](std::size_t i) {
    const std::string heading = full_heading(table.columns[i]);
    return heading.empty() && i == table.name_column ? table.columns[i].name : heading;
  });
  out += "|";
  for (const std::size_t i : order) {
    out += table.columns[i].align == Align::kLeft ? ":---|" : "---:|";
  }
  return out + "\n";
}

std::string table_markdown(const DocumentTable& table) {
  std::string out;
  if (!table.title.empty() && table.title != table.columns[table.name_column].name) {
    out += markdown_text(table.title + ":") + "\n\n";
  }
  out += headings_markdown(table);
  for (const DocumentRow& row : table.rows) {
    out += line_markdown(order_columns(table), [&](std::size_t i) { return row.cells[i].text; });
  }
  return out;
}

std::string list_markdown(const DocumentNote& note) {
  std::string out;
  if (!note.title.empty()) {
    out = note.title + ":\n\n";
    out.front() = static_cast<char>(std::toupper(out.front()));
  }
  for (const std::string& item : note.items) out += "- " + markdown_text(item) + "\n";
  return out;
}

std::string failure_markdown(const DocumentNote& failure) {
  std::string out;
  for (const std::string& key : failure.items) {
    const bool is_last = &key == &failure.items.back();
    out += "- " + markdown_text(key) + (is_last ? ": **" + failure.title + "**" : "") + "\n";
  }
  return failure.text.empty() ? out : out + "\n" + code_block(failure.text);
}

std::string note_markdown(const DocumentNote& note) {
  switch (note.kind) {
    case DocumentNote::Kind::kFootnote: return markdown_text(note.text) + "\n";
    case DocumentNote::Kind::kList: return list_markdown(note);
    case DocumentNote::Kind::kFailure: return failure_markdown(note);
    case DocumentNote::Kind::kText: return note.text;
    case DocumentNote::Kind::kConclusion: break;
  }
  return note.text + "\n";
}

constexpr std::size_t kMinBytes = 2000;
constexpr std::size_t kReserve = 700;    // bytes for the note about omissions
constexpr std::size_t kNameWidth = 160;  // columns; longer names lose their middle

// The row and its parts, in which bad results are bold.
std::string comment_row(const DocumentRow& row) {
  std::string out;
  const auto add = [&out](const std::string& name, const std::vector<DocumentCell>& cells) {
    out += "| " + name + " |";
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const bool is_bold = cells[i].tone == Tone::kBad && !cells[i].text.empty();
      const char* const mark = is_bold ? "**" : "";
      out += fmt::format(" {}{}{} |", mark, comment_text(cells[i].text), mark);
    }
    out += "\n";
  };
  add(comment_code(row.cells.front().text, kNameWidth), row.cells);
  for (const std::vector<DocumentCell>& part : row.parts) {
    add("&nbsp;&nbsp;" + comment_text(shorten_middle(part.front().text, kNameWidth)), part);
  }
  return out;
}

// Adds the section in at most `max` bytes. Returns how many items are left out; an item that is too
// large does not keep out the others.
std::size_t add_section(std::string& out, const DocumentSection& section, std::size_t max) {
  const bool is_folded = !section.title.empty();
  const std::string tail = is_folded ? "\n</details>\n" : "";
  std::string block = is_folded ? "\n<details>\n<summary>" + section.title + "</summary>\n\n" : "";
  std::vector<std::string> items = section.items;
  if (!section.table.rows.empty() && section.table.headings != Headings::kNone) {
    block += (is_folded ? "" : "\n") + headings_markdown(section.table);
  }
  for (const DocumentRow& row : section.table.rows) items.push_back(comment_row(row));
  std::size_t left_out = 0;
  for (const std::string& item : items) {
    if (block.size() + item.size() + tail.size() > max) {
      ++left_out;
    } else {
      block += item;
    }
  }
  if (left_out < items.size()) out += block + tail;
  return left_out + section.left_out;
}

void add_sections(std::string& out, const std::vector<DocumentSection>& sections,
                  std::size_t max_bytes) {
  const std::size_t max = std::max(max_bytes, kMinBytes);
  std::size_t end = max - kReserve;
  std::vector<std::string> left_out;
  for (const DocumentSection& section : sections) {
    const std::size_t left = end - std::min(end, out.size());
    const std::size_t count = add_section(out, section, left / section.share);
    if (count == 0) continue;
    left_out.push_back(
        fmt::format("{} ({})", section.items_name, format_count(static_cast<double>(count))));
    if (section.is_vital) end = 0;
  }
  if (left_out.empty()) return;
  out +=
      fmt::format("\nLeft out, to stay within {} characters: {}. The results files are complete.\n",
                  format_count(static_cast<double>(max)), fmt::join(left_out, ", "));
}

}  // namespace

std::string comment_text(std::string_view text) {
  static constexpr std::string_view kSpecial = "&<>|`*_~[]\\#@!$:";
  std::string out;
  for (char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string comment_code(std::string_view text, std::size_t width) {
  return "<code>" + comment_text(shorten_middle(text, width)) + "</code>";
}

std::string render_markdown(const Document& document, const RenderOptions& options) {
  std::string out;
  const auto add = [&out](const std::string& block) { out += (out.empty() ? "" : "\n") + block; };
  if (!document.title.empty()) add(markdown_text(document.title) + "\n");
  for (const DocumentTable& table : document.tables) add(table_markdown(table));
  for (const DocumentNote& note : document.notes) add(note_markdown(note));
  add_sections(out, document.sections, options.max_bytes);
  return out;
}

// Documents for programs: JSON, JSON Lines and CSV.

// The records are text already: as JSON values they would take several times the memory.
std::string render_json(const Document& document, const RenderOptions&) {
  std::string out;
  if (document.list_name != nullptr) {
    for (const std::string& object : {document.head, document.summary}) {
      if (object.size() > 2) out += object.substr(1, object.size() - 2) + ",";
    }
    out = "{" + out + "\"" + document.list_name + "\":";
  }
  const char* between = "[\n";
  for (const DocumentRecord& record : document.records) {
    out += between + record.json;
    between = ",\n";
  }
  out += document.records.empty() ? "[]" : "\n]";
  return out + (document.list_name == nullptr ? "\n" : "}\n");
}

std::string render_jsonl(const Document& document, const RenderOptions&) {
  std::string out;
  if (!document.head.empty()) out += document.head + "\n";
  for (const DocumentRecord& record : document.records) out += record.json + "\n";
  return document.last_line.empty() ? out : out + document.last_line + "\n";
}

std::string render_csv(const Document& document, const RenderOptions&) {
  std::string out = document.fields.empty() ? "" : csv_line(document.fields);
  for (const DocumentRecord& record : document.records) {
    for (const std::vector<std::string>& line : record.lines) out += csv_line(line);
  }
  return out;
}

}  // namespace instr
