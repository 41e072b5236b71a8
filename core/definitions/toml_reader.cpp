#include "core/definitions/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/definitions/limit.h"
#include "core/definitions/metrics.h"

namespace instr {

namespace {

// The parser's message for a string without its closing quote does not suggest the cause.
const char* toml_advice(std::string_view description) {
  return description.find("unescaped control characters") != std::string_view::npos
             ? "end the string on its line; text of several lines goes between \"\"\" and \"\"\""
             : "correct the TOML here (https://toml.io/en/v1.0.0)";
}

SourceLocation place_at(const toml::source_region& region, const SourceText& source) {
  return source.at(static_cast<int>(region.begin.line), static_cast<int>(region.begin.column));
}

bool is_string(const toml::node& node) { return node.is_string(); }
bool is_integer(const toml::node& node) { return node.is_integer(); }
bool is_number(const toml::node& node) { return node.is_number(); }
bool is_boolean(const toml::node& node) { return node.is_boolean(); }
bool is_table(const toml::node& node) { return node.is_table(); }
bool is_define(const toml::node& node) { return node.is_string() || node.is_integer(); }

bool is_string_or_true(const toml::node& node) {
  const auto* boolean = node.as_boolean();
  return node.is_string() || (boolean != nullptr && boolean->get());
}

bool is_matrix_value(const toml::node& node) {
  return node.is_string() || node.is_number() || node.is_boolean();
}

struct ShapeFacts {
  const char* words;
  bool (*fits)(const toml::node&);  // checks the value, each element, or each entry of a table
  const char* element = nullptr;    // describes an element of a list; null: no list
  const char* entry = nullptr;      // describes an entry of a table; null: any
  bool must_be_list = false;
};

// In the order of Shape.
constexpr ShapeFacts kShapeFacts[] = {
    {"a string", is_string},
    {"a string or a list of strings", is_string, "a string"},
    {"a list of strings", is_string, "a string", nullptr, true},
    {"an integer", is_integer},
    {"an integer or a list of integers", is_integer, "an integer"},
    {"a number", is_number},
    {"true or false", is_boolean},
    {"a string or true", is_string_or_true},
    {"a table", is_table},
    {"a list of tables", is_table, "a table", nullptr, true},
    {"a table of tables", is_table},
    {"a table of strings", is_string, nullptr, "a string"},
    {"a table of strings or lists of strings", is_string, "a string",
     "a string or a list of strings"},
    {"a table of strings or integers", is_define, nullptr, "a string or an integer"},
    {"a table of lists of integers, floats, strings or booleans", is_matrix_value,
     "an integer, a float, a string or a boolean",
     "a list of integers, floats, strings or booleans"},
};
static_assert(std::size(kShapeFacts) == static_cast<std::size_t>(Shape::kMatrix) + 1);

const ShapeFacts& facts_of(Shape shape) { return kShapeFacts[static_cast<std::size_t>(shape)]; }

// toml++ makes a nested table for each part of a dotted name, and frees them recursively: a name
// with very many parts would overflow the stack. It nests lists and inline tables at most 256 deep,
// so names in them add up to at most 8,192 parts.
constexpr int kMaxParts = 32;

// Counts the parts of every text that may be a name, even in strings and comments.
Expected<void> check_names(const SourceText& source) {
  const std::string_view text = source.text();
  int parts = 1;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const bool is_part = c >= 0x80 || std::isalnum(c) != 0 ||
                         std::string_view("_- \t\"'").find(text[at]) != std::string_view::npos;
    if (text[at] == '.' && text[at - 1] != '.') {
      if (++parts <= kMaxParts) continue;
      return tl::unexpected(Error{source.place(at),
                                  fmt::format("a name of more than {} parts", kMaxParts),
                                  "remove the dots; in a text, break the line"});
    }
    if (!is_part) parts = 1;
  }
  return {};
}

// Returns the brace in the same line that closes the brace at `open`.
std::size_t find_closing_brace(std::string_view code, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < code.size() && code[at] != '\n'; ++at) {
    depth += code[at] == '{' ? 1 : code[at] == '}' ? -1 : 0;
    if (depth == 0) return at;
  }
  return std::string_view::npos;
}

// Replaces `{./PATH}`, a path relative to the file, by the full path. PATH may contain parameters
// in braces.
std::string replace_paths(const std::string& code, const SourceText& source) {
  std::string result;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t open = std::min(code.find("{./", at), code.size());
    const std::size_t close = find_closing_brace(code, open);
    result += code.substr(at, open - at);
    at = open;
    if (open == code.size()) break;
    if (close == std::string::npos) {
      result += code[at++];
      continue;
    }
    result += source.beside(code.substr(open + 1, close - open - 1)).string();
    at = close + 1;
  }
  return result;
}

}  // namespace

Expected<toml::table> parse_toml(const SourceText& source) {
  TRY(check_names(source));
  try {
    return toml::parse(source.text());
  } catch (const toml::parse_error& error) {
    return tl::unexpected<Error>(Error{place_at(error.source(), source),
                                       std::string(error.description()),
                                       toml_advice(error.description())});
  }
}

std::vector<TomlEntry> list_entries(const toml::table& table, const SourceText& source) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, value] : table) {
    entries.push_back({std::string(key.str()), place_at(key.source(), source), &value});
  }
  std::ranges::stable_sort(entries, {}, [](const TomlEntry& entry) {
    return std::pair(entry.where.line, entry.where.column);
  });
  return entries;
}

SourceLocation toml_location(const toml::node& node, const SourceText& source) {
  return place_at(node.source(), source);
}

Text to_text(const toml::node& string, const SourceText& source) {
  const auto begin = string.source().begin;
  return {replace_paths(string.as_string()->get(), source),
          source.content_of_string(static_cast<int>(begin.line), static_cast<int>(begin.column))};
}

std::string describe_kind(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a floating-point number";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::array: return "a list";
    case toml::node_type::table: return "a table";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
    case toml::node_type::none: break;
  }
  return "a date or time";
}

TableReader::TableReader(const toml::table& table, std::string_view title, Keys known,
                         const SourceText& source, Errors& errors)
    : table_(table), title_(title), known_(known), source_(source), errors_(errors) {
  for (const auto& [name, value] : table) {
    const auto key = std::ranges::find(known, name.str(), &Key::name);
    if (key != known.end()) {
      check_shape(*key, value);
      check_words(*key);
      continue;
    }
    add_error(place_at(name.source(), source),
              fmt::format("unknown key `{}` in {}", name.str(), title),
              did_you_mean(name.str(), names_of(known)));
  }
  for (const Key& key : known) {
    if (!key.is_required || has(key.name)) continue;
    add_error(toml_location(table, source), fmt::format("`{}` is missing in {}", key.name, title),
              fmt::format("write for example `{}`", key.example));
  }
}

void TableReader::check_shape(const Key& key, const toml::node& value) {
  const ShapeFacts& facts = facts_of(key.shape);
  if (facts.entry == nullptr) return check_value(key, value, key.name, facts.words);
  const toml::table* table = value.as_table();
  if (!table) return wrong_shape(key, value, key.name, facts.words);
  for (const auto& [name, entry] : *table) {
    check_value(key, entry, fmt::format("{}.{}", key.name, name.str()), facts.entry);
  }
}

void TableReader::check_words(const Key& key) {
  if (key.words == nullptr) return;
  const std::vector<std::string>& known = key.words();
  for (const Text& text : texts(key.name)) {
    if (std::ranges::find(known, text.code) != known.end()) continue;
    add_error(text.where, fmt::format("unknown {} `{}`", key.name, text.code),
              did_you_mean(text.code, known));
  }
}

// `name`: of the key, or of an entry of its table.
void TableReader::check_value(const Key& key, const toml::node& value, std::string_view name,
                              std::string_view required) {
  const ShapeFacts& facts = facts_of(key.shape);
  const toml::array* list = facts.element != nullptr ? value.as_array() : nullptr;
  if (!list) {
    if (facts.must_be_list || !facts.fits(value)) wrong_shape(key, value, name, required);
    return;
  }
  for (const toml::node& element : *list) {
    if (!facts.fits(element)) {
      return wrong_shape(key, element, fmt::format("{}[...]", name), facts.element);
    }
  }
}

void TableReader::wrong_shape(const Key& key, const toml::node& value, std::string_view name,
                              std::string_view required) {
  add_error(toml_location(value, source_),
            fmt::format("`{}` must be {}, not {}", name, required, describe_kind(value)),
            fmt::format("write for example `{}`", key.example));
  wrong_.push_back(key.name);
}

const toml::node* TableReader::get(std::string_view key) const {
  return std::ranges::find(wrong_, key) == wrong_.end() ? table_.get(key) : nullptr;
}

SourceLocation TableReader::place(std::string_view key) const {
  const toml::node* value = table_.get(key);
  return toml_location(value ? *value : table_, source_);
}

std::optional<Text> TableReader::text(std::string_view key) const {
  const toml::node* value = get(key);
  return value ? std::optional(to_text(*value, source_)) : std::nullopt;
}

std::optional<Text> TableReader::code(std::string_view key) const {
  std::optional<Text> text = this->text(key);
  if (!text || !is_blank(text->code)) return text;
  refuse(key, fmt::format("`{}` is empty", key), "write the code, or leave the key out");
  return std::nullopt;
}

std::string TableReader::string(std::string_view key) const {
  const toml::node* value = get(key);
  return value ? value->as_string()->get() : std::string();
}

bool TableReader::boolean(std::string_view key) const {
  const toml::node* value = get(key);
  return value && value->as_boolean()->get();
}

std::vector<Text> TableReader::texts(std::string_view key) const {
  std::vector<Text> result;
  const toml::node* value = get(key);
  if (!value) return result;
  if (const toml::array* list = value->as_array()) {
    for (const toml::node& element : *list) result.push_back(to_text(element, source_));
  } else {
    result.push_back(to_text(*value, source_));
  }
  return result;
}

std::vector<std::string> TableReader::strings(std::string_view key) const {
  std::vector<std::string> result;
  for (Text& text : texts(key)) result.push_back(std::move(text.code));
  return result;
}

std::vector<int> TableReader::integers(std::string_view key) const {
  std::vector<int> result;
  const toml::node* value = get(key);
  if (!value) return result;
  const Range range = std::ranges::find(known_, key, &Key::name)->range;
  const auto add = [&](const toml::node& node) {
    const std::int64_t number = node.as_integer()->get();
    if (number < range.min || number > range.max) {
      add_error(toml_location(node, source_), fmt::format("`{}` is {}", key, number),
                fmt::format("it must be from {} to {}", range.min, range.max));
    } else {
      result.push_back(static_cast<int>(number));
    }
  };
  if (const toml::array* list = value->as_array()) {
    for (const toml::node& element : *list) add(element);
  } else {
    add(*value);
  }
  return result;
}

std::optional<int> TableReader::integer(std::string_view key) const {
  const std::vector<int> values = integers(key);
  return values.empty() ? std::nullopt : std::optional(values.front());
}

std::optional<double> TableReader::number(std::string_view key) const {
  const toml::node* value = get(key);
  return value ? value->value<double>() : std::nullopt;
}

const toml::table* TableReader::table(std::string_view key) const {
  const toml::node* value = get(key);
  return value ? value->as_table() : nullptr;
}

void TableReader::add_error(SourceLocation where, std::string what, std::string advice) const {
  errors_.push_back({std::move(where), std::move(what), std::move(advice)});
}

void TableReader::add_error(SourceLocation where, Error error) const {
  add_error(std::move(where), std::move(error.what), std::move(error.advice));
}

bool TableReader::has_misspelled(const std::string& name) const {
  const std::vector<std::string> names = names_of(known_);
  for (const auto& [key, value] : table_) {
    const std::string written(key.str());
    if (std::ranges::find(names, written) != names.end()) continue;
    if (nearest(written, names) == name) return true;
  }
  return false;
}

void TableReader::refuse(std::string_view key, std::string what, std::string advice) const {
  add_error(place(key), std::move(what), std::move(advice));
}

std::map<std::string, std::string> read_limit_texts(const TableReader& read) {
  std::map<std::string, std::string> limits;
  for (const std::string& key : names_of(limit_keys())) {
    const std::optional<Text> limit = read.text(key);
    if (!limit) continue;
    if (auto parsed = parse_limit(limit->code); !parsed) {
      read.add_error(limit->where, std::move(parsed.error()));
    }
    limits[metric_name(key)] = limit->code;
  }
  return limits;
}

}  // namespace instr
