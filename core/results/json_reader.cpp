#include "core/results/json_reader.h"

namespace instr {

Expected<JsonValue> JsonReader::read(std::string_view text) {
  JsonValue value;
  constexpr bool kCopyText = true;  // simdjson reads beyond the end of the text
  const auto error = parser_.parse(text.data(), text.size(), kCopyText).get(value);
  if (error != simdjson::SUCCESS) return fail("this line is not JSON");
  return value;
}

std::string json_text(JsonValue value) { return simdjson::minify(value); }

std::optional<JsonValue> member(JsonValue json, std::string_view name) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) return std::nullopt;
  std::optional<JsonValue> last;
  for (const auto field : object) {
    if (field.key == name) last = field.value;
  }
  return last;
}

std::vector<JsonValue> items_of(JsonValue array) {
  simdjson::dom::array items;
  if (array.get(items) != simdjson::SUCCESS) return {};
  return {items.begin(), items.end()};
}

std::vector<JsonValue> items_of(JsonValue json, std::string_view name) {
  const auto array = member(json, name);
  return array ? items_of(*array) : std::vector<JsonValue>();
}

std::vector<JsonMember> members_of(JsonValue object) {
  simdjson::dom::object members;
  if (object.get(members) != simdjson::SUCCESS) return {};
  return {members.begin(), members.end()};
}

std::vector<JsonMember> members_of(JsonValue json, std::string_view name) {
  const auto object = member(json, name);
  return object ? members_of(*object) : std::vector<JsonMember>();
}

}  // namespace instr
