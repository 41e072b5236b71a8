// As much of JSON Schema (draft 07) as the schemas in tools/ use, for their tests; any other word
// in a schema fails the test.
#pragma once

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace instr {

class JsonSchema {
 public:
  explicit JsonSchema(const nlohmann::json& root) : root_(root) {}

  bool accepts(const nlohmann::json& value) const { return accepts(root_, value); }

 private:
  using Json = nlohmann::json;

  bool accepts(const Json& schema, const Json& value) const {
    for (const auto& [word, rule] : schema.items()) {
      if (!obeys(schema, word, rule, value)) return false;
    }
    return true;
  }

  bool obeys(const Json& schema, const std::string& word, const Json& rule,
             const Json& value) const {
    const auto accepted_by = [&](const Json& one) { return accepts(one, value); };
    if (word == "$ref")
      return accepts(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value);
    if (word == "type") return has_type(rule, value);
    if (word == "const") return value == rule;
    if (word == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (word == "allOf") return std::all_of(rule.begin(), rule.end(), accepted_by);
    if (word == "anyOf") return std::any_of(rule.begin(), rule.end(), accepted_by);
    if (word == "not") return !accepts(rule, value);
    if (word == "if") return !accepts(rule, value) || accepts(schema.at("then"), value);
    if (value.is_string()) return obeys_as_string(word, rule, value) && is_known(word);
    if (value.is_number()) return obeys_as_number(word, rule, value) && is_known(word);
    if (value.is_array()) return obeys_as_list(word, rule, value) && is_known(word);
    if (value.is_object()) return obeys_as_object(schema, word, rule, value) && is_known(word);
    return is_known(word);
  }

  static bool is_known(const std::string& word) {
    static const std::vector<std::string> kWords{"$schema",       "title",
                                                 "description",   "definitions",
                                                 "then",          "pattern",
                                                 "minLength",     "minimum",
                                                 "maximum",       "exclusiveMinimum",
                                                 "items",         "minItems",
                                                 "maxItems",      "uniqueItems",
                                                 "properties",    "additionalProperties",
                                                 "propertyNames", "minProperties",
                                                 "required"};
    const bool known = std::find(kWords.begin(), kWords.end(), word) != kWords.end();
    EXPECT_TRUE(known) << word;
    return known;
  }

  static bool has_type(const Json& type, const Json& value) {
    if (type.is_array()) {
      return std::any_of(type.begin(), type.end(),
                         [&](const Json& one) { return has_type(one, value); });
    }
    const std::string name = type;
    if (name == "integer") return value.is_number_integer();
    if (name == "number") return value.is_number();
    if (name == "boolean") return value.is_boolean();
    return name == value.type_name();
  }

  bool obeys_as_string(const std::string& word, const Json& rule, const Json& value) const {
    const auto& text = value.get_ref<const std::string&>();
    if (word == "minLength") return text.size() >= rule.get<std::size_t>();
    if (word != "pattern") return true;
    auto& pattern = patterns_[rule];
    if (!pattern) pattern = std::make_unique<re2::RE2>(rule.get<std::string>());
    EXPECT_TRUE(pattern->ok()) << rule;
    return re2::RE2::PartialMatch(text, *pattern);
  }

  static bool obeys_as_number(const std::string& word, const Json& rule, const Json& value) {
    if (word == "minimum") return value >= rule;
    if (word == "maximum") return value <= rule;
    if (word == "exclusiveMinimum") return value > rule;
    return true;
  }

  bool obeys_as_list(const std::string& word, const Json& rule, const Json& value) const {
    if (word == "minItems") return value.size() >= rule.get<std::size_t>();
    if (word == "maxItems") return value.size() <= rule.get<std::size_t>();
    if (word == "items") {
      return std::all_of(value.begin(), value.end(),
                         [&](const Json& one) { return accepts(rule, one); });
    }
    if (word != "uniqueItems") return true;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (std::find(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(i), value[i]) !=
          value.begin() + static_cast<std::ptrdiff_t>(i)) {
        return false;
      }
    }
    return true;
  }

  bool obeys_as_object(const Json& schema, const std::string& word, const Json& rule,
                       const Json& value) const {
    if (word == "minProperties") return value.size() >= rule.get<std::size_t>();
    if (word == "required") {
      return std::all_of(rule.begin(), rule.end(),
                         [&](const Json& name) { return value.contains(name.get<std::string>()); });
    }
    for (const auto& [name, member] : value.items()) {
      const bool is_property =
          schema.contains("properties") && schema.at("properties").contains(name);
      if (word == "properties" && is_property && !accepts(rule.at(name), member)) return false;
      if (word == "propertyNames" && !accepts(rule, name)) return false;
      if (word == "additionalProperties" && !is_property) {
        if (rule.is_boolean() ? !rule.get<bool>() : !accepts(rule, member)) return false;
      }
    }
    return true;
  }

  const Json& root_;
  mutable std::map<std::string, std::unique_ptr<re2::RE2>> patterns_;  // expensive to compile
};

}  // namespace instr
