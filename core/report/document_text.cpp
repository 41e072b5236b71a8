// Documents as text for a terminal. Tables have columns if these fit, else a line for each value.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/definitions/metrics.h"
#include "core/report/document_columns.h"
#include "core/report/formats.h"

namespace instr {

namespace {

constexpr std::size_t kStackedIndent = 2;
constexpr std::size_t kStackedWidth = 44;  // wider lines put numbers too far from their names
constexpr std::size_t kMessageLines = 40;  // the rest of a message is in the results file
constexpr std::size_t kMessageIndent = 4;

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

}  // namespace instr
