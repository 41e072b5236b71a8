#include "core/results/end_line.h"

#include <nlohmann/json.hpp>

namespace instr {

using Json = nlohmann::ordered_json;

std::string end_line(std::size_t measurements) {
  return Json{{"end", {{"measurements", measurements}}}}.dump();
}

std::optional<std::size_t> measurements_at_end(const Json& line) {
  const Json::json_pointer number("/end/measurements");
  if (!line.is_object() || line.size() != 1 || !line.contains(number)) return std::nullopt;
  const Json& value = line.at(number);
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::size_t>();
}

}  // namespace instr
