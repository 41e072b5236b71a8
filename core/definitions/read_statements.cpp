#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/format.h"
#include "core/base/trim.h"
#include "core/definitions/read_benchmark.h"

namespace instr {

namespace {

class StatementsReader {
 public:
  StatementsReader(const TableReader& read, const SourceText& source, Language language,
                   std::vector<Statement>& statements)
      : read_(read), source_(source), language_(language), statements_(statements) {}

  void read() {
    const std::string single = format_key(language_, "stmt");
    const std::string many = format_key(language_, "stmts");
    refuse_both(single, many);
    if (read_.has(format_key(language_, "modules"))) return read_modules();
    if (const toml::table* table = read_.table(many)) return read_named(*table);
    if (read_.has(many)) return;
    if (!read_.has(single)) return add("", std::nullopt, std::nullopt);  // the module's own
    if (auto text = read_.code(single)) add("", std::move(text), std::nullopt);
  }

 private:
  // Makes a statement for each module: `stmt` if it exists, else a call of the module.
  void read_modules() {
    const std::string many = format_key(language_, "modules");
    refuse_both(format_key(language_, "module"), many);
    refuse_both(format_key(language_, "stmts"), many);
    const std::optional<Text> statement = read_.code(format_key(language_, "stmt"));
    const toml::table* table = read_.table(many);
    if (!table) return;
    check_names(many, *table, facts_of(language_).example_module);
    for (const TomlEntry& entry : list_entries(*table, source_)) {
      Text module = to_text(*entry.value, source_);
      if (check_not_empty(module, "module")) add("/" + entry.name, statement, std::move(module));
    }
  }

  void read_named(const toml::table& table) {
    const std::string key = format_key(language_, "stmts");
    check_names(key, table, facts_of(language_).example_stmt);
    for (const TomlEntry& entry : list_entries(table, source_)) {
      if (!entry.value->is_array()) {
        add_statement("/" + entry.name, to_text(*entry.value, source_));
        continue;
      }
      const toml::array& list = *entry.value->as_array();
      if (list.empty()) {
        read_.add_error(entry.where, fmt::format("`{}.{}` is an empty list", key, entry.name),
                        "add a statement, or leave it out");
      }
      for (std::size_t i = 0; i < list.size(); ++i) {
        add_statement(fmt::format("/{}/{}", entry.name, i), to_text(list[i], source_));
      }
    }
  }

  void refuse_both(const std::string& single, const std::string& many) {
    if (!read_.has(single) || !read_.has(many)) return;
    read_.refuse(many, fmt::format("this benchmark has both `{}` and `{}`", single, many),
                 fmt::format("leave out `{}`, or make two benchmarks", single));
  }

  // Checks the names in a table with a benchmark for each.
  void check_names(const std::string& key, const toml::table& table, const char* example) {
    if (table.empty()) {
      read_.refuse(key, fmt::format("`{}` is empty", key),
                   fmt::format("add for example `name = \"{}\"`", example));
    }
    for (const TomlEntry& entry : list_entries(table, source_)) {
      if (is_blank(entry.name) || !is_plain_line(entry.name)) {
        read_.add_error(entry.where, "this name is empty or has an invisible character",
                        "the name becomes a part of the label");
      }
    }
  }

  bool check_not_empty(const Text& text, const char* what) {
    if (!is_blank(text.code)) return true;
    read_.add_error(text.where, fmt::format("this {} is empty", what),
                    "write the code, or leave it out");
    return false;
  }

  void add_statement(std::string suffix, Text text) {
    if (check_not_empty(text, "statement")) add(std::move(suffix), std::move(text), std::nullopt);
  }

  void add(std::string suffix, std::optional<Text> text, std::optional<Text> module) {
    statements_.push_back({language_, std::move(suffix), std::move(text), std::move(module)});
  }

  const TableReader& read_;
  const SourceText& source_;
  const Language language_;
  std::vector<Statement>& statements_;
};

}  // namespace

void read_statements(const TableReader& read, const SourceText& source, Language language,
                     std::vector<Statement>& statements) {
  StatementsReader(read, source, language, statements).read();
}

void sort_statements(std::vector<Statement>& statements) {
  std::map<std::string, std::size_t> order;
  for (const Statement& statement : statements) order.emplace(statement.suffix, order.size());
  std::ranges::stable_sort(
      statements, {}, [&order](const Statement& statement) { return order.at(statement.suffix); });
}

}  // namespace instr
