#include "core/results/lines_file.h"

#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "core/results/results.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kLineColumns =
    std::to_array<const char*>({"file", "line", "self", "inclusive", "text"});

// Of a block; hours under Callgrind.
constexpr std::uint64_t kMaxLineInstructions = std::uint64_t{1} << 48;

bool is_number(const Json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMaxLineInstructions;
}

bool has_line_columns(const Json& json) {
  if (!json.is_object() || !json.contains("iterations")) return false;
  if (!is_number(json["iterations"]) || json["iterations"] == 0U) return false;
  for (const char* column : kLineColumns) {
    if (!json.contains(column) || !json[column].is_array()) return false;
    if (json[column].size() != json["file"].size()) return false;
  }
  return true;
}

// Nothing if it is not such a line.
std::optional<LineCost> line_from(const Json& json, std::size_t at, const SideFile& file) {
  const auto& of = [&json, at](const char* column) -> const Json& { return json[column][at]; };
  const auto name =
      is_number(of("file")) ? file.name_of(of("file").get<std::uint64_t>()) : std::nullopt;
  const bool is_line = is_number(of("line")) && of("line") <= std::numeric_limits<int>::max();
  if (!name || !is_line || !is_number(of("self")) || !of("text").is_string()) return std::nullopt;
  LineCost line{name->function, of("line").get<int>(), of("self").get<std::int64_t>(), std::nullopt,
                of("text").get<std::string>()};
  if (of("inclusive").is_null()) return line;
  if (!is_number(of("inclusive"))) return std::nullopt;
  line.inclusive = of("inclusive").get<std::int64_t>();
  return line;
}

// Null if it is not such an object.
std::shared_ptr<const LineCosts> lines_from(const Json& json, const SideFile& file) {
  if (!has_line_columns(json)) return nullptr;
  auto costs = std::make_shared<LineCosts>();
  costs->iterations = json["iterations"].get<std::uint64_t>();
  for (std::size_t i = 0; i < json["file"].size(); ++i) {
    auto line = line_from(json, i, file);
    if (!line) return nullptr;
    costs->lines.push_back(*std::move(line));
  }
  return costs;
}

}  // namespace

std::string next_lines(SideLines& lines, const std::string& key, const LineCosts& costs) {
  Json file = Json::array(), number = Json::array(), self = Json::array();
  Json inclusive = Json::array(), text = Json::array();
  for (const LineCost& one : costs.lines) {
    file.push_back(lines.number_of(one.file, ""));
    number.push_back(one.line);
    self.push_back(one.self);
    inclusive.push_back(one.inclusive ? Json(*one.inclusive) : nullptr);
    text.push_back(one.text);
  }
  const std::string object = to_line({{"iterations", costs.iterations},
                                      {"file", std::move(file)},
                                      {"line", std::move(number)},
                                      {"self", std::move(self)},
                                      {"inclusive", std::move(inclusive)},
                                      {"text", std::move(text)}});
  return lines.next(key, object.substr(1, object.size() - 2));
}

Expected<LinesOf> open_lines(const std::filesystem::path& file, const std::string& header,
                             Incomplete incomplete) {
  return read_side_file(file, kLinesFile).map([&](const std::shared_ptr<SideFile>& side) {
    return values_in<LineCosts>(side, header, incomplete, lines_from);
  });
}

LinesOf parse_lines(std::string bytes, const std::string& header, const std::string& name,
                    Incomplete incomplete, const SideLimits& limits) {
  const auto side = std::make_shared<SideFile>(kLinesFile, std::move(bytes), name, limits);
  return values_in<LineCosts>(side, header, incomplete, lines_from);
}

}  // namespace instr
