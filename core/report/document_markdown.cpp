// Documents as GitHub-flavoured Markdown.
#include <algorithm>
#include <cctype>
#include <string_view>

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

std::string table_markdown(const DocumentTable& table) {
  const std::vector<std::size_t> order = order_columns(table);
  const DocumentColumn& names = table.columns[table.name_column];
  std::string out;
  if (!table.title.empty() && table.title != names.name) {
    out += markdown_text(table.title + ":") + "\n\n";
  }
  const auto add_line = [&](const auto& text_of) {
    out += "|";
    for (const std::size_t i : order) {
      const std::string text = markdown_text(text_of(i));
      out += text.empty() ? " |" : " " + text + " |";
    }
    out += "\n";
  };
  add_line([&](std::size_t i) {
    const std::string heading = full_heading(table.columns[i]);
    return heading.empty() && i == table.name_column ? names.name : heading;
  });
  out += "|";
  for (const std::size_t i : order) {
    out += table.columns[i].align == Align::kLeft ? ":---|" : "---:|";
  }
  out += "\n";
  for (const DocumentRow& row : table.rows) {
    add_line([&row](std::size_t i) { return row.cells[i].text; });
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
    case DocumentNote::Kind::kConclusion: break;
  }
  return note.text + "\n";
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

std::string render_markdown(const Document& document, const RenderOptions&) {
  std::string out;
  const auto add = [&out](const std::string& block) { out += (out.empty() ? "" : "\n") + block; };
  if (!document.title.empty()) add(markdown_text(document.title) + "\n");
  for (const DocumentTable& table : document.tables) add(table_markdown(table));
  for (const DocumentNote& note : document.notes) add(note_markdown(note));
  return out;
}

}  // namespace instr
