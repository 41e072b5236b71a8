// Reads what a [[benchmark]] table measures in one language: a statement, many, or many modules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/definitions/definition.h"
#include "core/definitions/toml_reader.h"

namespace instr {

// A statement, and the suffix that it adds to the benchmark's label.
struct Statement {
  Language language = Language::kCpp;
  std::string suffix;
  std::optional<Text> text;    // absent if the module makes the statement
  std::optional<Text> module;  // one of many; absent: the benchmark's
};

// Adds those of this language, in the order written.
void read_statements(const TableReader& read, const SourceText& source, Language language,
                     std::vector<Statement>& statements);

// Those of one name follow each other, in the order of languages.
void sort_statements(std::vector<Statement>& statements);

// In a name or label, which are one line of plain text.
bool has_control_character(std::string_view text);

}  // namespace instr
