// Parts of JSON Schemas (draft 07).
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace instr::json_schema {

using Json = nlohmann::ordered_json;

// `types`: the name of a type, or a list of them.
inline Json of_type(Json types) { return {{"type", std::move(types)}}; }

inline Json any_of(Json first, Json second) {
  return {{"anyOf", Json::array({std::move(first), std::move(second)})}};
}

inline Json list_of(Json element) { return {{"type", "array"}, {"items", std::move(element)}}; }

// An object whose members may have any name.
inline Json table_of(Json member) {
  return {{"type", "object"}, {"additionalProperties", std::move(member)}};
}

inline Json described(std::string_view description, const Json& schema) {
  Json all = {{"description", description}};
  all.update(schema);
  return all;
}

inline Json document(std::string_view title, std::string_view description, const Json& schema) {
  Json all = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  all.update(described(description, schema));
  return all;
}

}  // namespace instr::json_schema
