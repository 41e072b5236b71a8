#include "core/report/document.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
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

}  // namespace instr
