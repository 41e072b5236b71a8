// Documents as GitHub-flavoured Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/base/format.h"
#include "core/report/formats.h"

namespace instr {

namespace {

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

std::string markdown_text(const std::string& text) {
  static constexpr std::string_view kSpecial = "\\`*_~[]<>|&";
  std::string out;
  for (char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

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

}  // namespace instr
