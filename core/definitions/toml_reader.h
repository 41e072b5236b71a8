// Typed reading of TOML tables: keys and shapes are checked once against the table of known keys,
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

// The whole file. The error is at the place where the text is not valid TOML.
Expected<toml::table> parse_toml(const SourceText& source);

struct TomlEntry {
  std::string name;
  SourceLocation where;  // of the key
  const toml::node* value;
};

// TOML tables are sorted by name in memory; this is the order in which they were written.
std::vector<TomlEntry> list_entries(const toml::table& table, const SourceText& source);

SourceLocation toml_location(const toml::node& node, const SourceText& source);

// A string's content and the place of its first character.
Text to_text(const toml::node& string, const SourceText& source);

// "a string", "a list", ...
std::string describe_kind(const toml::node& node);

class TableReader {
 public:
  // `title` names the table in messages: "[build]". Adds an error for each unknown key, each value
  // of a wrong shape, each unknown word and each missing key. All arguments outlive the reader.
  TableReader(const toml::table& table, std::string_view title, Keys known,
              const SourceText& source, Errors& errors);

  // Whether the key exists at all, with a valid value or not.
  bool has(std::string_view key) const { return table_.contains(key); }
  // The value if it exists and has its shape, else null.
  const toml::node* get(std::string_view key) const;
  // Place of the value; of the table if the key is absent.
  SourceLocation place(std::string_view key) const;

  std::optional<Text> text(std::string_view key) const;
  // The same, but blank text is an error.
  std::optional<Text> code(std::string_view key) const;
  std::string string(std::string_view key) const;       // empty if absent
  bool boolean(std::string_view key) const;             // false if absent
  std::vector<Text> texts(std::string_view key) const;  // of a string or a list of strings
  // Values outside the key's range are errors, and left out.
  std::vector<int> integers(std::string_view key) const;
  std::optional<int> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  const toml::table* table(std::string_view key) const;

  void add_error(SourceLocation where, std::string what, std::string advice) const;
  // Adds an error at the key's place.
  // True if a key of the table is unknown, and was probably meant to be this one.
  bool has_misspelled(const std::string& name) const;

  void refuse(std::string_view key, std::string what, std::string advice) const;

 private:
  void check_shape(const Key& key, const toml::node& value);
  void check_words(const Key& key);
  void check_entry(const Key& key, const toml::node& value, std::string_view name,
                   bool (*fits)(const toml::node&), bool may_be_list);
  void wrong_shape(const Key& key, const toml::node& value, std::string_view name,
                   std::string_view required);

  const toml::table& table_;
  std::string_view title_;
  Keys known_;
  const SourceText& source_;
  Errors& errors_;
  std::vector<std::string_view> wrong_;  // keys whose value has a wrong shape
};

// Returns the limits in a table whose keys are limit_keys(), as written, by metric. Invalid limits
// are errors at their place.
std::map<std::string, std::string> read_limit_texts(const TableReader& read);

}  // namespace instr
