#include "core/definitions/read_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base/format.h"
#include "core/base/trim.h"
#include "core/definitions/expand.h"
#include "core/definitions/signature.h"

namespace instr {
namespace {

class BenchmarkReader {
 public:
  BenchmarkReader(const toml::table& table, const BenchmarkContext& context, Errors& errors)
      : read_(table, "[[benchmark]]", benchmark_keys(), context.source, errors),
        context_(context),
        errors_(errors) {
    definition_.where = toml_location(table, context.source);
    definition_.build = context.build;
    definition_.limits = context.limits;
  }

  std::vector<Definition> read() {
    read_label();
    read_options(read_, context_.source, errors_, definition_);
    read_shared_code();
    std::vector<Statement> statements;
    for (const LanguageFacts& language : kLanguages) {
      if (is_written_in(language.language)) read_language(language.language, statements);
    }
    if (!is_written()) refuse_no_statement();
    read_torchscript(statements);
    read_signature();
    sort_statements(statements);
    definition_.matrix = read_matrix(read_, context_.source, count_variants_of_point(statements));
    check_label_parameters();
    check_conflicts();
    return make_definitions(statements);
  }

 private:
  void read_label() {
    definition_.label = read_.string("label");
    if (read_.get("label") && is_blank(definition_.label)) {
      read_.refuse("label", "the label is empty", "write for example `label = \"matmul/mm\"`");
    } else if (!is_plain_line(definition_.label)) {
      read_.refuse("label", "the label has an invisible character",
                   "labels are one line of visible text");
    }
  }

  bool has(Language language, const char* key) const {
    return read_.has(format_key(language, key));
  }

  // Returns true if the benchmark measures something in this language.
  bool is_written_in(Language language) const {
    return has(language, "stmt") || has(language, "stmts") || has(language, "module") ||
           has(language, "modules");
  }

  bool is_written() const {
    return std::any_of(kLanguages.begin(), kLanguages.end(), [this](const LanguageFacts& facts) {
      return is_written_in(facts.language);
    });
  }

  void read_language(Language language, std::vector<Statement>& statements) {
    Snippet& snippet = by_language_[static_cast<std::size_t>(language)];
    snippet.language = language;
    read_setups(language, snippet);
    snippet.module = read_.code(format_key(language, "module"));
    read_statements(read_, context_.source, language, statements);
  }

  bool has_misspelled_statement() const {
    for (const LanguageFacts& facts : kLanguages) {
      for (const char* name : {"stmt", "stmts", "module"}) {
        if (read_.has_misspelled(format_key(facts.language, name))) return true;
      }
    }
    return false;
  }

  void refuse_no_statement() {
    if (!has_misspelled_statement()) {
      read_.add_error(definition_.where,
                      definition_.label.empty()
                          ? "this benchmark has no statement"
                          : fmt::format("benchmark `{}` has no statement", definition_.label),
                      "add `stmt = \"...\"`, or [benchmark.stmts], or a `module`; for Python "
                      "`py_stmt`, `py_stmts` or `py_module`");
    }
    for (const Text& name : read_.texts("use")) {
      context_.find_setup(name.code, Language::kCpp, name.where);
    }
  }

  void read_setups(Language language, Snippet& snippet) {
    std::set<std::string> seen;
    const bool is_first = language == Language::kCpp || !is_written_in(Language::kCpp);
    for (const Text& name : read_.texts("use")) {
      if (!seen.insert(name.code).second) {
        if (!is_first) continue;
        read_.add_error(name.where, fmt::format("`use` names `{}` twice", name.code),
                        "name it once");
        continue;
      }
      if (const Text* setup = context_.find_setup(name.code, language, name.where)) {
        snippet.setups.push_back(*setup);
      }
    }
    if (auto setup = read_.text(format_key(language, "setup")); setup && !is_blank(setup->code)) {
      snippet.setups.push_back(std::move(*setup));
    }
    snippet.global_setups = context_.global_setups[static_cast<std::size_t>(language)];
    if (auto own = read_.text(format_key(language, "global_setup")); own && !is_blank(own->code)) {
      snippet.global_setups.push_back(std::move(*own));
    }
  }

  void read_shared_code() {
    definition_.package = read_.code("package");
    if (definition_.package) {
      definition_.package->code = context_.source.beside(definition_.package->code).string();
    }
    definition_.autograd = read_.boolean("autograd");
    definition_.is_explicit = read_.boolean("explicit");
    definition_.description = read_.string("description");
    if (read_.get("reduce")) definition_.reduce = read_.string("reduce");
  }

  // `true` means the Python statement, which TorchScript can often read, and a traced C++ module.
  void read_torchscript(const std::vector<Statement>& statements) {
    const toml::node* value = read_.get("torchscript");
    if (value == nullptr) return;
    if (value->is_string()) {
      definition_.torchscript = read_.code("torchscript");
      return;
    }
    const auto python = std::find_if(statements.begin(), statements.end(), [](const auto& it) {
      return it.language == Language::kPython && (it.text || it.module || it.suffix.empty());
    });
    if (python == statements.end() && !is_traceable(statements)) {
      return read_.refuse(
          "torchscript",
          "`torchscript = true` needs a statement in Python, or a module without one",
          "add `py_stmt`, or write the body: `torchscript = \"y = torch.mm(x, w)\"`");
    }
    const bool has_text = python != statements.end() && python->text;
    definition_.torchscript = has_text ? *python->text : Text{"", read_.place("torchscript")};
  }

  static bool is_traced(const Statement& statement) {
    return statement.language == Language::kCpp && !statement.text;
  }

  static bool is_traceable(const std::vector<Statement>& statements) {
    return std::any_of(statements.begin(), statements.end(), is_traced);
  }

  void read_signature() {
    const std::optional<Text> text = read_.text("signature");
    if (text) {
      auto signature = parse_signature(*text);
      if (signature) {
        definition_.signature = std::move(*signature);
      } else {
        errors_.push_back(std::move(signature.error()));
      }
    }
    if (read_.has("signature")) return;
    const auto need = [&](std::string_view key) {
      read_.refuse(key, fmt::format("`{}` needs a signature", key),
                   "add for example `signature = \"f(x, w) -> y\"`");
    };
    if (definition_.torchscript) need("torchscript");
    if (definition_.package) need("package");
    if (definition_.autograd) need("autograd");
    for (const LanguageFacts& facts : kLanguages) {
      if (has(facts.language, "stmt") || has(facts.language, "stmts")) continue;
      for (const char* key : {"module", "modules"}) {
        if (has(facts.language, key)) need(format_key(facts.language, key));
      }
    }
  }

  // Returns the number of variants per combination of parameters.
  std::uint64_t count_variants_of_point(const std::vector<Statement>& statements) const {
    std::uint64_t count = 0;
    for (Definition& point : make_definitions(statements)) {
      point.matrix.clear();
      count += count_variants(point);
    }
    return count;
  }

  void check_label_parameters() {
    for (const auto& [name, values] : definition_.matrix) {
      if (definition_.label.find("{" + name + "}") == std::string::npos) continue;
      read_.refuse("label", fmt::format("the label has the parameter `{{{}}}`", name),
                   fmt::format("leave it out: the key contains /{}=... already", name));
    }
  }

  void check_conflicts() {
    for (const char* many : {"stmts", "modules"}) check_shared_by(many);
    for (const LanguageFacts& language : kLanguages) check_orphans(language.language);
    if (definition_.compiles) check_compiles();
    if (!definition_.is_explicit) return;
    const auto conflict = [&](bool is_there, std::string_view key) {
      if (!is_there) return;
      read_.refuse(
          key,
          fmt::format("`{}` in an explicit benchmark, which is measured exactly as written", key),
          fmt::format("leave out `{}` or `explicit`", key));
    };
    conflict(definition_.torchscript.has_value(), "torchscript");
    conflict(definition_.package.has_value(), "package");
    for (const LanguageFacts& language : kLanguages) {
      for (const char* name : {"module", "modules"}) {
        const std::string key = format_key(language.language, name);
        conflict(read_.has(key), key);
      }
    }
    conflict(definition_.autograd, "autograd");
    conflict(read_.has("matrix"), "matrix");
    conflict(definition_.threads.size() > 1, "threads");
    conflict(definition_.devices.size() > 1, "device");
  }

  void check_compiles() {
    for (const char* key :
         {"stmt", "stmts", "module", "modules", "py_module", "py_modules", "signature"}) {
      if (!read_.has(key)) continue;
      read_.refuse(key, fmt::format("`{}` in a benchmark with `compiles`", key),
                   "write the whole call as a statement: `py_stmt = \"torch.compile(f)(x)\"`");
    }
  }

  // Refuses code for a single benchmark if `many` makes several.
  void check_shared_by(const char* many) {
    const auto language = std::find_if(kLanguages.begin(), kLanguages.end(), [&](const auto& it) {
      return read_.table(format_key(it.language, many)) != nullptr;
    });
    if (language == kLanguages.end()) return;
    const std::string key = format_key(language->language, many);
    const toml::node* script = read_.get("torchscript");
    const bool is_of_each = many == std::string_view("modules") && script && script->is_boolean();
    if (definition_.torchscript && !is_of_each) {
      read_.refuse("torchscript",
                   fmt::format("`torchscript` cannot be the body of all of `{}`", key),
                   "move it to a separate [[benchmark]], with its statement");
    }
    if (definition_.package) {
      read_.refuse("package", fmt::format("`package` cannot be the package of all of `{}`", key),
                   "move it to a separate [[benchmark]], with its statement");
    }
  }

  // Refuses texts for a language in which nothing is measured.
  void check_orphans(Language language) {
    if (is_written_in(language)) return;
    for (const char* key : {"setup", "global_setup"}) {
      const std::string name = format_key(language, key);
      if (!read_.has(name) || !is_written()) continue;
      read_.refuse(name,
                   fmt::format("`{}` in a benchmark without a statement in {}", name,
                               facts_of(language).title),
                   fmt::format("add `{}`, or leave it out", format_key(language, "stmt")));
    }
  }

  std::vector<Definition> make_definitions(const std::vector<Statement>& statements) const {
    std::vector<Definition> definitions;
    definitions.reserve(statements.size());
    for (const Statement& statement : statements) {
      Definition& definition = definitions.emplace_back(definition_);
      const Snippet& own = by_language_[static_cast<std::size_t>(statement.language)];
      definition.language = own.language;
      definition.global_setups = own.global_setups;
      definition.setups = own.setups;
      definition.module = statement.module ? statement.module : own.module;
      definition.label += statement.suffix;
      definition.stmt = statement.text;
      if (own.language == Language::kPython) {
        definition.package.reset();
        if (definition.torchscript) {
          definition.torchscript = statement.text ? *statement.text : *definition.module;
        }
      } else if (!is_traced(statement) &&
                 is_blank(definition.torchscript ? definition.torchscript->code : "-")) {
        definition.torchscript.reset();
      }
    }
    return definitions;
  }

  const TableReader read_;
  const BenchmarkContext& context_;
  Errors& errors_;
  Definition definition_;                               // the part common to all languages
  std::array<Snippet, kLanguages.size()> by_language_;  // setups and module
};

}  // namespace

std::vector<Definition> read_benchmark(const toml::table& table, const BenchmarkContext& context,
                                       Errors& errors) {
  return BenchmarkReader(table, context, errors).read();
}

}  // namespace instr
