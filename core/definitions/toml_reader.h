// Typed reading of TOML tables. Keys and shapes are checked once against the table of known keys,
// with all errors collected; invalid values then read as absent.
#pragma once

#include <toml++/toml.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source_text.h"
#include "core/definitions/definition_keys.h"
#include "core/definitions/snippet.h"

namespace instr {

// Parses the whole file. The error is at the place where the text is not valid TOML.
Expected<toml::table> parse_toml(const SourceText& source);

struct TomlEntry {
  std::string name;
  SourceLocation where;  // the key's location
  const toml::node* value;
};

// Returns the table's entries in the order in which they were written; toml++ sorts them by name.
std::vector<TomlEntry> list_entries(const toml::table& table, const SourceText& source);

SourceLocation toml_location(const toml::node& node, const SourceText& source);

// Returns a string's content and the place of its first character.
Text to_text(const toml::node& string, const SourceText& source);

// "a string", "a list", ...
std::string describe_kind(const toml::node& node);

class TableReader {
 public:
  // `title` names the table in messages: "[build]". Adds an error for each unknown key, each value
  // of a wrong shape, each unknown word and each missing key. All arguments outlive the reader.
  TableReader(const toml::table& table, std::string_view title, Keys known,
              const SourceText& source, Errors& errors);

  // Returns true if the key exists, with a valid value or not.
  bool has(std::string_view key) const { return table_.contains(key); }
  // Returns null if the value is missing or has a wrong shape.
  const toml::node* get(std::string_view key) const;
  // Returns the place of the value; of the table if the key is absent.
  SourceLocation place(std::string_view key) const;

  std::optional<Text> text(std::string_view key) const;
  // Like text(), but blank text is an error.
  std::optional<Text> code(std::string_view key) const;
  std::string string(std::string_view key) const;       // empty if absent
  bool boolean(std::string_view key) const;             // false if absent
  std::vector<Text> texts(std::string_view key) const;  // a string or a list of strings
  std::vector<std::string> strings(std::string_view key) const;
  // Values outside the key's range are errors, and are left out.
  std::vector<int> integers(std::string_view key) const;
  std::optional<int> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  const toml::table* table(std::string_view key) const;

  // Returns true if the table has an unknown key that is probably a misspelling of this name.
  bool has_misspelled(const std::string& name) const;

  void add_error(SourceLocation where, std::string what, std::string advice) const;
  void add_error(SourceLocation where, Error error) const;
  // Adds an error at the key's place.
  void refuse(std::string_view key, std::string what, std::string advice) const;

 private:
  void check_shape(const Key& key, const toml::node& value);
  void check_words(const Key& key);
  void check_value(const Key& key, const toml::node& value, std::string_view name,
                   std::string_view required);
  void wrong_shape(const Key& key, const toml::node& value, std::string_view name,
                   std::string_view required);

  const toml::table& table_;
  std::string_view title_;
  Keys known_;
  const SourceText& source_;
  Errors& errors_;
  std::vector<std::string_view> wrong_;  // keys whose value has a wrong shape
};

// Returns the limits in a table whose keys are limit_keys(), as written, by metric. Adds an error
// for each invalid limit.
std::map<std::string, std::string> read_limit_texts(const TableReader& read);

}  // namespace instr
