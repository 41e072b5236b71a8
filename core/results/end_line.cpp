#include "core/results/end_line.h"

#include "core/results/json_reader.h"

namespace instr {

std::string end_line(std::size_t measurements) {
  return "{\"end\":{\"measurements\":" + std::to_string(measurements) + "}}";
}

std::optional<std::size_t> measurements_at_end(JsonValue line) {
  const auto end = member(line, "end");
  if (!end || members_of(line).size() != 1) return std::nullopt;
  return member_as<std::uint64_t>(*end, "measurements");
}

}  // namespace instr
