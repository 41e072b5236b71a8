// Reads JSON of untrusted files, one line at a time. Unlike core/base/read_file.h it copies no
// values.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace instr {

using JsonValue = simdjson::dom::element;
using JsonMember = simdjson::dom::key_value_pair;

class JsonReader {
 public:
  // Parses `text`; the value is valid until the next call. The error, for text that is not JSON,
  // has no place or advice.
  Expected<JsonValue> read(std::string_view text);

 private:
  simdjson::dom::parser parser_;
};

// The value as text: {"a":1}.
std::string json_text(JsonValue value);

// Finds the member of that name, the last if there are several; nothing if `json` has no such
// member or is not an object.
std::optional<JsonValue> member(JsonValue json, std::string_view name);

// The items of an array and the members of an object; empty for a value of another type, or if
// there is no such member.
std::vector<JsonValue> items_of(JsonValue array);
std::vector<JsonValue> items_of(JsonValue json, std::string_view name);
std::vector<JsonMember> members_of(JsonValue object);
std::vector<JsonMember> members_of(JsonValue json, std::string_view name);

// The value as T: bool, double (any number), std::string_view, int, std::int64_t or std::uint64_t;
// nothing if it is of another type or out of T's range.
template <class T>
std::optional<T> value_as(JsonValue value) {
  if constexpr (std::is_same_v<T, int>) {
    const auto number = value_as<std::int64_t>(value);
    return number && std::in_range<int>(*number) ? std::optional(static_cast<int>(*number))
                                                 : std::nullopt;
  } else {
    T as_type;
    return value.get(as_type) == simdjson::SUCCESS ? std::optional(as_type) : std::nullopt;
  }
}

template <class T>
std::optional<T> member_as(JsonValue json, std::string_view name) {
  const auto value = member(json, name);
  return value ? value_as<T>(*value) : std::nullopt;
}

// Reads the values of an array; nothing if it is not an array, or a value is not a T.
template <class T>
std::optional<std::vector<T>> read_values(JsonValue array) {
  simdjson::dom::array items;
  if (array.get(items) != simdjson::SUCCESS) return std::nullopt;
  std::vector<T> values;
  for (const JsonValue item : items) {
    const auto value = value_as<T>(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// Reads the values of a member that is an array; nothing if it is missing, or as read_values().
template <class T>
std::optional<std::vector<T>> read_column(JsonValue json, std::string_view name) {
  const auto column = member(json, name);
  return column ? read_values<T>(*column) : std::nullopt;
}

}  // namespace instr
