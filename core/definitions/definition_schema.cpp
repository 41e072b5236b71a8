#include "core/definitions/definition_schema.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/definitions/definition_keys.h"

namespace instr {
namespace json_schema {
namespace {

using Json = nlohmann::ordered_json;

// `types`: the name of a type, or a list of them.
Json of_type(Json types) { return {{"type", std::move(types)}}; }

Json any_of(Json first, Json second) {
  return {{"anyOf", Json::array({std::move(first), std::move(second)})}};
}

Json list_of(Json element) { return {{"type", "array"}, {"items", std::move(element)}}; }

// An object whose members may have any name.
Json table_of(Json member) {
  return {{"type", "object"}, {"additionalProperties", std::move(member)}};
}

Json described(std::string_view description, const Json& schema) {
  Json all = {{"description", description}};
  all.update(schema);
  return all;
}

Json document(std::string_view title, std::string_view description, const Json& schema) {
  Json all = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  all.update(described(description, schema));
  return all;
}

Json string_schema(const Key& key) {
  Json schema = of_type("string");
  if (key.words != nullptr) schema["enum"] = key.words();
  return schema;
}

Json integer_schema(const Key& key) {
  Json schema = of_type("integer");
  if (key.range != Range{}) {
    schema["minimum"] = key.range.min;
    schema["maximum"] = key.range.max;
  }
  return schema;
}

Json table_schema(Keys keys);

Json members_schema(const Key& key) {
  return key.members != nullptr ? table_schema(key.members()) : of_type("object");
}

Json one_or_list_of(const Json& schema) { return any_of(schema, list_of(schema)); }

Json value_schema(const Key& key) {
  switch (key.shape) {
    case Shape::kString: return string_schema(key);
    case Shape::kStrings: return one_or_list_of(string_schema(key));
    case Shape::kStringList: return list_of(string_schema(key));
    case Shape::kInteger: return integer_schema(key);
    case Shape::kIntegers: return one_or_list_of(integer_schema(key));
    case Shape::kNumber: return of_type("number");
    case Shape::kBoolean: return of_type("boolean");
    case Shape::kStringOrTrue: return any_of(string_schema(key), {{"const", true}});
    case Shape::kTable: return members_schema(key);
    case Shape::kTables: return list_of(members_schema(key));
    case Shape::kNamedTables: return table_of(members_schema(key));
    case Shape::kStringTable: return table_of(string_schema(key));
    case Shape::kStringsTable: return table_of(one_or_list_of(string_schema(key)));
    case Shape::kDefineTable: return table_of(of_type({"string", "integer"}));
    case Shape::kMatrix: return table_of(one_or_list_of(of_type({"string", "number", "boolean"})));
  }
  return {};
}

Json table_schema(Keys keys) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key& key : keys) {
    const std::string name(key.name);
    properties[name] = described(key.description, value_schema(key));
    if (key.is_required) required.push_back(name);
  }
  return {{"type", "object"},
          {"required", std::move(required)},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

}  // namespace
}  // namespace json_schema

nlohmann::ordered_json definition_schema() {
  return json_schema::document("instr_bench definitions",
                               "Benchmarks for instr_bench: statements with their setups and "
                               "parameters. See docs/DEFINITIONS.md.",
                               json_schema::table_schema(file_keys()));
}

}  // namespace instr
