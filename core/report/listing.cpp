#include "core/report/listing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/report/report_grid.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

std::string shown_text(const ListingCell& cell) {
  return cell.shown.empty() ? printable(cell.value) : cell.shown;
}

std::string json_of(const ListingCell& cell) {
  if (cell.is_text) return to_line(nlohmann::ordered_json(cell.value));
  return cell.value.empty() ? "null" : cell.value;
}

// Of the columns for which `shown` is true.
Table table_of(const Listing& listing, const std::vector<bool>& shown) {
  Table table{.columns = {}};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const ListingColumn& column = listing.columns[i];
    if (shown[i]) table.columns.push_back({.heading = column.heading, .align = column.align});
  }
  for (const ListingRow& row : listing.rows) {
    TableLine line;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (shown[i]) line.cells.push_back({shown_text(row.cells[i]), row.cells[i].tone});
    }
    table.lines.push_back(std::move(line));
    for (const std::string& text : row.lines) table.lines.push_back({.text = text + "\n"});
  }
  return table;
}

std::string as_table(const Listing& listing, std::size_t width, bool color) {
  std::vector<bool> shown;
  for (const ListingColumn& column : listing.columns) shown.push_back(column.heading != nullptr);
  auto text = table_text(table_of(listing, shown), width, color);
  for (std::size_t i = listing.columns.size(); !text && i-- > 0;) {
    if (!shown[i] || !listing.columns[i].is_spare) continue;
    shown[i] = false;
    text = table_text(table_of(listing, shown), width, color);
  }
  return text ? *text : *table_text(table_of(listing, shown), 0, color);
}

std::string as_markdown(const Listing& listing) {
  std::string head = "|";
  std::string rule = "|";
  for (const ListingColumn& column : listing.columns) {
    if (column.heading == nullptr) continue;
    head += " " + markdown_text(column.heading) + " |";
    rule += column.align == Align::kLeft ? ":---|" : "---:|";
  }
  std::string text = head + "\n" + rule + "\n";
  for (const ListingRow& row : listing.rows) {
    text += "|";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (listing.columns[i].heading == nullptr) continue;
      text += " " + markdown_text(shown_text(row.cells[i])) + " |";
    }
    text += "\n";
  }
  return text;
}

std::string as_csv(const Listing& listing) {
  std::vector<std::string> names;
  for (const ListingColumn& column : listing.columns) names.emplace_back(column.name);
  std::string text = listing.has_head ? csv_line(names) : "";
  for (const ListingRow& row : listing.rows) {
    std::vector<std::string> fields;
    for (const ListingCell& cell : row.cells) fields.push_back(cell.value);
    text += csv_line(fields);
  }
  return text;
}

std::string as_jsonl(const Listing& listing) {
  std::string text;
  for (const ListingRow& row : listing.rows) {
    std::string members;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      members += fmt::format("{}\"{}\":{}", members.empty() ? "" : ",", listing.columns[i].name,
                             json_of(row.cells[i]));
    }
    if (!row.more.empty()) members += fmt::format(",\"{}\":{}", listing.more_name, row.more);
    text += "{" + members + "}\n";
  }
  return text;
}

struct Form {
  ReportFormat format;
  std::string (*text)(const Listing& listing);
};

constexpr Form kForms[] = {{ReportFormat::kMarkdown, as_markdown},
                           {ReportFormat::kJsonl, as_jsonl},
                           {ReportFormat::kCsv, as_csv}};

}  // namespace

const std::vector<ReportFormat>& listing_formats() {
  static const std::vector<ReportFormat> formats = [] {
    std::vector<ReportFormat> known{ReportFormat::kTable};
    for (const Form& form : kForms) known.push_back(form.format);
    return known;
  }();
  return formats;
}

std::string listing_text(const Listing& listing, ReportFormat format, std::size_t width,
                         bool color) {
  for (const Form& form : kForms) {
    if (form.format == format) return form.text(listing);
  }
  return as_table(listing, width, color);
}

}  // namespace instr
