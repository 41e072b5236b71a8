#include "core/results/lines_file.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/results/json_reader.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// The maximum of a block: hours under Callgrind.
constexpr std::uint64_t kMaxLineInstructions = std::uint64_t{1} << 48;

// Reads a number of instructions or of a file; returns nothing for any other value.
std::optional<std::uint64_t> line_number_from(JsonValue json) {
  const auto number = value_as<std::uint64_t>(json);
  return number && *number <= kMaxLineInstructions ? number : std::nullopt;
}

struct LineColumns {
  std::vector<JsonValue> file, line, self, inclusive, text;
};

// Reads the columns; returns nothing if one is missing, or their lengths differ.
std::optional<LineColumns> line_columns_from(JsonValue json) {
  for (const char* name : {"file", "line", "self", "inclusive", "text"}) {
    const auto column = member(json, name);
    if (!column || !column->is_array()) return std::nullopt;
  }
  LineColumns columns{items_of(json, "file"), items_of(json, "line"), items_of(json, "self"),
                      items_of(json, "inclusive"), items_of(json, "text")};
  for (const auto* column : {&columns.line, &columns.self, &columns.inclusive, &columns.text}) {
    if (column->size() != columns.file.size()) return std::nullopt;
  }
  return columns;
}

// Reads one line; returns nothing if it is malformed.
std::optional<LineCost> line_from(const LineColumns& columns, std::size_t at,
                                  const SideFile& file) {
  const auto file_number = line_number_from(columns.file[at]);
  const auto name = file_number ? file.find_name(*file_number) : std::nullopt;
  const auto line = value_as<int>(columns.line[at]);
  const auto self = line_number_from(columns.self[at]);
  const auto text = value_as<std::string_view>(columns.text[at]);
  if (!name || !line || *line < 0 || !self || !text) return std::nullopt;
  LineCost cost{name->function, *line, static_cast<std::int64_t>(*self), std::nullopt,
                std::string(*text)};
  if (columns.inclusive[at].is_null()) return cost;
  const auto inclusive = line_number_from(columns.inclusive[at]);
  if (!inclusive) return std::nullopt;
  cost.inclusive = static_cast<std::int64_t>(*inclusive);
  return cost;
}

// Reads the costs of lines; returns null if they are malformed.
std::shared_ptr<const LineCosts> lines_from(std::string_view text, const SideFile& file) {
  JsonReader reader;
  const auto json = reader.read(text);
  const auto columns = json ? line_columns_from(*json) : std::nullopt;
  const auto iterations = json ? member(*json, "iterations") : std::nullopt;
  const auto number = iterations ? line_number_from(*iterations) : std::nullopt;
  if (!columns || !number || *number == 0) return nullptr;
  auto costs = std::make_shared<LineCosts>();
  costs->iterations = *number;
  for (std::size_t i = 0; i < columns->file.size(); ++i) {
    auto line = line_from(*columns, i, file);
    if (!line) return nullptr;
    costs->lines.push_back(*std::move(line));
  }
  return costs;
}

}  // namespace

std::string next_lines(SideLines& lines, const std::string& key, const LineCosts& costs) {
  Json file = Json::array(), number = Json::array(), self = Json::array();
  Json inclusive = Json::array(), text = Json::array();
  for (const LineCost& cost : costs.lines) {
    file.push_back(lines.number_of(cost.file, ""));
    number.push_back(cost.line);
    self.push_back(cost.self);
    inclusive.push_back(cost.inclusive ? Json(*cost.inclusive) : nullptr);
    text.push_back(cost.text);
  }
  return lines.next(key, Json{{"iterations", costs.iterations},
                              {"file", std::move(file)},
                              {"line", std::move(number)},
                              {"self", std::move(self)},
                              {"inclusive", std::move(inclusive)},
                              {"text", std::move(text)}});
}

LinesOf line_costs_in(const std::shared_ptr<SideFile>& file, const std::string& header,
                      Incomplete incomplete) {
  return values_in<LineCosts>(file, header, incomplete, lines_from);
}

}  // namespace instr
