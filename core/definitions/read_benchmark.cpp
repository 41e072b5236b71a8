#include "core/definitions/read_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "core/base/format.h"
#include "core/base/trim.h"
#include "core/definitions/expand.h"
#include "core/definitions/limit.h"
#include "core/definitions/requirement.h"
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
  }

  std::vector<Definition> read() {
    read_label();
    read_options();
    read_limits();
    read_tolerance();
    read_shared_code();
    std::vector<Statement> statements;
    for (const LanguageFacts& language : kLanguages) {
      if (is_written_in(language.language)) read_language(language.language, statements);
    }
    if (!is_written()) read_nothing();
    read_torchscript(statements);
    read_signature();
    sort_statements(statements);
    definition_.matrix = read_matrix(read_, context_.source, variants_of_point(statements));
    check_label_parameters();
    check_conflicts();
    return with_statements(statements);
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

  // Whether something is measured in it.
  bool is_written_in(Language language) const {
    return read_.has(format_key(language, "stmt")) || read_.has(format_key(language, "stmts")) ||
           read_.has(format_key(language, "module")) || read_.has(format_key(language, "modules"));
  }

  bool is_written() const {
    return std::any_of(kLanguages.begin(), kLanguages.end(),
                       [this](const LanguageFacts& one) { return is_written_in(one.language); });
  }

  Definition& in(Language language) { return by_language_[static_cast<std::size_t>(language)]; }

  void read_language(Language language, std::vector<Statement>& statements) {
    Definition& definition = in(language);
    definition.language = language;
    read_setups(language, definition);
    definition.module = read_.code(format_key(language, "module"));
    read_statements(read_, context_.source, language, statements);
  }

  bool has_misspelled_statement() const {
    for (const LanguageFacts& one : kLanguages) {
      for (const char* name : {"stmt", "stmts", "module"}) {
        if (read_.has_misspelled(format_key(one.language, name))) return true;
      }
    }
    return false;
  }

  void read_nothing() {
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

  void read_setups(Language language, Definition& definition) {
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
        definition.setups.push_back(*setup);
      }
    }
    if (auto setup = read_.text(format_key(language, "setup")); setup && !is_blank(setup->code)) {
      definition.setups.push_back(std::move(*setup));
    }
    definition.global_setups = context_.global_setups[static_cast<std::size_t>(language)];
    if (auto own = read_.text(format_key(language, "global_setup")); own && !is_blank(own->code)) {
      definition.global_setups.push_back(std::move(*own));
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

  // `true` stands for the statement in Python, which TorchScript can often read, and for what is
  // traced of a module in C++.
  void read_torchscript(const std::vector<Statement>& statements) {
    const toml::node* value = read_.get("torchscript");
    if (value == nullptr) return;
    if (value->is_string()) {
      definition_.torchscript = read_.code("torchscript");
      return;
    }
    const auto python = std::find_if(statements.begin(), statements.end(), [](const auto& one) {
      return one.language == Language::kPython && (one.text || one.module || one.suffix.empty());
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

  static bool is_traced(const Statement& one) {
    return one.language == Language::kCpp && !one.text;
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
    for (const LanguageFacts& language : kLanguages) {
      const auto has = [&](const char* key) {
        return read_.has(format_key(language.language, key));
      };
      for (const char* key : {"module", "modules"}) {
        if (has(key) && !has("stmt") && !has("stmts")) need(format_key(language.language, key));
      }
    }
  }

  void read_options() {
    if (auto threads = read_.integers("threads"); !threads.empty()) {
      refuse_repeated("threads", threads);
      definition_.threads = std::move(threads);
    } else {
      refuse_empty_list("threads");
    }
    if (const auto devices = strings("device"); !devices.empty()) {
      refuse_repeated("device", devices);
      definition_.devices = devices;
      definition_.names_devices = true;
    } else {
      refuse_empty_list("device");
    }
    definition_.tags = strings("tags");
    for (const Text& tag : read_.texts("tags")) {
      if (is_blank(tag.code) || !is_plain_line(tag.code)) {
        read_.add_error(tag.where, "this tag is empty or has an invisible character",
                        "write for example `tags = [\"slow\"]`");
      }
    }
    definition_.warmup = read_.integer("warmup");
    definition_.iterations = read_.integer("iterations");
    definition_.timeout = read_.number("timeout");
    if (definition_.timeout && !is_time(*definition_.timeout)) {
      read_.refuse("timeout", "`timeout` must be a number of seconds above 0, 1e6 at most",
                   "write for example `timeout = 60`");
    }
    read_libtorch();
    read_packages();
  }

  void read_libtorch() {
    const std::optional<Text> requirement = read_.text("libtorch");
    if (!requirement) return;
    definition_.libtorch = requirement->code;
    if (auto checked = satisfies("0", requirement->code); !checked) {
      read_.add_error(requirement->where, std::move(checked.error().what),
                      std::move(checked.error().advice));
    }
  }

  void read_packages() {
    refuse_empty_list("python");
    for (Text& text : read_.texts("python")) {
      if (auto parsed = parse_package(text.code); !parsed) {
        read_.add_error(text.where, std::move(parsed.error().what),
                        std::move(parsed.error().advice));
      }
      definition_.packages.push_back(std::move(text.code));
    }
  }

  void read_limits() {
    const toml::table* table = read_.table("limit");
    if (!table) return;
    definition_.limits =
        read_limit_texts(TableReader(*table, "`limit`", limit_keys(), context_.source, errors_));
  }

  void read_tolerance() {
    Tolerance& tolerance = definition_.tolerance;
    if (const toml::table* table = read_.table("tolerance")) {
      const TableReader read(*table, "`tolerance`", tolerance_keys(), context_.source, errors_);
      tolerance.relative = read.number("rtol");
      tolerance.absolute = read.number("atol");
      for (const auto& [name, value] :
           {std::pair{"rtol", tolerance.relative}, {"atol", tolerance.absolute}}) {
        if (!value || (*value >= 0 && std::isfinite(*value))) continue;
        read.add_error(read.place(name),
                       fmt::format("`{}` must be a finite number of at least 0", name),
                       fmt::format("write for example `tolerance = {{ {} = 1e-5 }}`", name));
      }
    }
    tolerance.cosine = read_.number("cosine");
    if (tolerance.cosine && !(*tolerance.cosine > 0 && *tolerance.cosine <= 1)) {
      read_.refuse("cosine", "`cosine` must be above 0 and at most 1",
                   "write for example `cosine = 0.99`");
    }
    tolerance.rmse = read_.number("rmse");
    if (tolerance.rmse && !(*tolerance.rmse > 0 && std::isfinite(*tolerance.rmse))) {
      read_.refuse("rmse", "`rmse` must be a finite number above 0",
                   "write for example `rmse = 1e-3`");
    }
    const char* rules[] = {"cosine", "rmse", "tolerance"};
    for (const auto& [one, other] :
         {std::pair{rules[0], rules[2]}, {rules[0], rules[1]}, {rules[1], rules[2]}}) {
      if (!read_.has(one) || !read_.has(other)) continue;
      read_.refuse(one, fmt::format("this benchmark has both `{}` and `{}`", one, other),
                   "leave one of them out");
    }
  }

  // How many variants the table makes per combination of its parameters.
  std::uint64_t variants_of_point(const std::vector<Statement>& statements) const {
    std::uint64_t count = 0;
    for (Definition& point : with_statements(statements)) {
      point.matrix.clear();
      count += count_variants(point);
    }
    return count;
  }

  void check_label_parameters() {
    for (const auto& [name, values] : definition_.matrix) {
      if (definition_.label.find("{" + name + "}") == std::string::npos) continue;
      read_.refuse("label", fmt::format("the label has the parameter `{{{}}}`", name),
                   fmt::format("leave it out: the key gets /{}=... by itself", name));
    }
  }

  void check_conflicts() {
    for (const char* many : {"stmts", "modules"}) check_shared_by(many);
    for (const LanguageFacts& language : kLanguages) check_orphans(language.language);
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

  // What is for one benchmark, where `many` makes several.
  void check_shared_by(const char* many) {
    const auto its = std::find_if(kLanguages.begin(), kLanguages.end(), [&](const auto& one) {
      return read_.table(format_key(one.language, many)) != nullptr;
    });
    if (its == kLanguages.end()) return;
    const std::string key = format_key(its->language, many);
    // `true` stands for each module.
    const toml::node* script = read_.get("torchscript");
    const bool is_of_each = many == std::string_view("modules") && script && script->is_boolean();
    if (definition_.torchscript && !is_of_each) {
      read_.refuse("torchscript",
                   fmt::format("one `torchscript` body cannot stand for all of `{}`", key),
                   "make a [[benchmark]] of the one that it is for");
    }
    if (definition_.package) {
      read_.refuse("package", fmt::format("one `package` cannot stand for all of `{}`", key),
                   "make a [[benchmark]] of the one that it is for");
    }
  }

  // Texts for a language in which nothing is measured.
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

  std::vector<Definition> with_statements(const std::vector<Statement>& statements) const {
    std::vector<Definition> definitions;
    definitions.reserve(statements.size());
    for (const Statement& statement : statements) {
      Definition& definition = definitions.emplace_back(definition_);
      const Definition& own = by_language_[static_cast<std::size_t>(statement.language)];
      definition.language = own.language;
      definition.global_setups = own.global_setups;
      definition.setups = own.setups;
      definition.module = statement.module ? statement.module : own.module;
      definition.label += statement.suffix;
      definition.stmt = statement.text;
      if (own.language == Language::kPython) {
        definition.package.reset();
        // What torch.jit.script would get: the statement, or the module.
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

  std::vector<std::string> strings(std::string_view key) const {
    std::vector<std::string> result;
    for (Text& text : read_.texts(key)) result.push_back(std::move(text.code));
    return result;
  }

  template <class T>
  void refuse_repeated(std::string_view key, const std::vector<T>& values) {
    std::set<T> seen;
    for (const T& value : values) {
      if (!seen.insert(value).second) {
        read_.refuse(key, fmt::format("`{}` has {} twice", key, value), "name each value once");
      }
    }
  }

  void refuse_empty_list(std::string_view key) {
    const toml::node* value = read_.get(key);
    if (value && value->is_array() && value->as_array()->empty()) {
      read_.refuse(key, fmt::format("`{}` is an empty list", key),
                   "add a value, or leave the key out");
    }
  }

  const TableReader read_;
  const BenchmarkContext& context_;
  Errors& errors_;
  Definition definition_;                                  // without what is of one language
  std::array<Definition, kLanguages.size()> by_language_;  // that, without statement
};

}  // namespace

std::vector<Definition> read_benchmark(const toml::table& table, const BenchmarkContext& context,
                                       Errors& errors) {
  return BenchmarkReader(table, context, errors).read();
}

}  // namespace instr
