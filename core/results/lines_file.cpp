#include "core/results/lines_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/results/json_reader.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// The maximum of a block: hours under Callgrind.
constexpr std::uint64_t kMaxLineInstructions = std::uint64_t{1} << 48;

// Reads the costs of lines; returns null if they are malformed.
std::shared_ptr<const LineCosts> lines_from(std::string_view text, const SideFile& file) {
  JsonReader reader;
  const auto json = reader.read(text);
  if (!json) return nullptr;
  const auto iterations = member_as<std::uint64_t>(*json, "iterations").value_or(0);
  const auto files = read_column<std::uint64_t>(*json, "file");
  const auto numbers = read_column<int>(*json, "line");
  const auto self = read_column<std::uint64_t>(*json, "self");
  const auto inclusive = items_of(*json, "inclusive");
  const auto texts = read_column<std::string_view>(*json, "text");
  if (iterations == 0 || iterations > kMaxLineInstructions) return nullptr;
  if (!files || !numbers || !self || !texts) return nullptr;
  for (std::size_t size : {numbers->size(), self->size(), inclusive.size(), texts->size()}) {
    if (size != files->size()) return nullptr;
  }
  auto costs = std::make_shared<LineCosts>();
  costs->iterations = iterations;
  for (std::size_t i = 0; i < files->size(); ++i) {
    const auto name = file.find_name((*files)[i]);
    if (!name || (*numbers)[i] < 0 || (*self)[i] > kMaxLineInstructions) return nullptr;
    LineCost& line = costs->lines.emplace_back();
    line.file = name->function;
    line.line = (*numbers)[i];
    line.self = static_cast<std::int64_t>((*self)[i]);
    line.text = (*texts)[i];
    if (inclusive[i].is_null()) continue;
    const auto total = value_as<std::uint64_t>(inclusive[i]);
    if (!total || *total > kMaxLineInstructions) return nullptr;
    line.inclusive = static_cast<std::int64_t>(*total);
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
