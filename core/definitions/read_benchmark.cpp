#include "core/definitions/read_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
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
    benchmark_.where = toml_location(table, context.source);
    benchmark_.build = context.build;
    benchmark_.limits = context.limits;
  }

  GroupedBenchmark read() {
    read_label();
    read_options(read_, context_.source, errors_, benchmark_);
    read_shared_code();
    for (const LanguageFacts& language : kLanguages) {
      if (is_written_in(language.language)) read_language(language.language);
    }
    if (!is_written()) refuse_no_statement();
    read_torchscript();
    read_signature();
    sort_statements(benchmark_.statements);
    // The number of variants at each point of the matrix, which is not read yet.
    const std::uint64_t variants_of_point = count_variants(benchmark_);
    benchmark_.matrix = read_matrix(read_, context_.source, variants_of_point);
    check_label_parameters();
    check_conflicts();
    return std::move(benchmark_);
  }

 private:
  void read_label() {
    benchmark_.label = read_.string("label");
    if (read_.get("label") && is_blank(benchmark_.label)) {
      read_.refuse("label", "the label is empty", "write for example `label = \"matmul/mm\"`");
    } else if (!is_plain_line(benchmark_.label)) {
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

  void read_language(Language language) {
    SharedCode& shared = benchmark_.in(language);
    read_setups(language, shared);
    shared.module = read_.code(format_key(language, "module"));
    read_statements(read_, context_.source, language, benchmark_.statements);
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
      read_.add_error(benchmark_.where,
                      benchmark_.label.empty()
                          ? "this benchmark has no statement"
                          : fmt::format("benchmark `{}` has no statement", benchmark_.label),
                      "add `stmt = \"...\"`, or [benchmark.stmts], or a `module`; for Python "
                      "`py_stmt`, `py_stmts` or `py_module`");
    }
    for (const Text& name : read_.texts("use")) {
      context_.find_setup(name.code, Language::kCpp, name.where);
    }
  }

  void read_setups(Language language, SharedCode& shared) {
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
        shared.setups.push_back(*setup);
      }
    }
    if (auto setup = read_.text(format_key(language, "setup")); setup && !is_blank(setup->code)) {
      shared.setups.push_back(std::move(*setup));
    }
    shared.global_setups = context_.global_setups[static_cast<std::size_t>(language)];
    if (auto own = read_.text(format_key(language, "global_setup")); own && !is_blank(own->code)) {
      shared.global_setups.push_back(std::move(*own));
    }
  }

  void read_shared_code() {
    benchmark_.package = read_.code("package");
    if (benchmark_.package) {
      benchmark_.package->code = context_.source.beside(benchmark_.package->code).string();
    }
    benchmark_.autograd = read_.boolean("autograd");
    benchmark_.is_explicit = read_.boolean("explicit");
    benchmark_.description = read_.string("description");
    if (read_.get("reduce")) benchmark_.reduce = read_.string("reduce");
  }

  // `true` means the Python statement, which TorchScript can often read, and a traced C++ module.
  void read_torchscript() {
    const toml::node* value = read_.get("torchscript");
    if (value == nullptr) return;
    if (value->is_string()) {
      benchmark_.torchscript = read_.code("torchscript");
      return;
    }
    const std::vector<Statement>& statements = benchmark_.statements;
    const auto python = std::find_if(statements.begin(), statements.end(), [](const auto& it) {
      return it.language == Language::kPython && (it.text || it.module || it.suffix.empty());
    });
    const bool is_traceable = std::ranges::any_of(statements, [](const Statement& statement) {
      return statement.language == Language::kCpp && !statement.text;
    });
    if (python == statements.end() && !is_traceable) {
      return read_.refuse(
          "torchscript",
          "`torchscript = true` needs a statement in Python, or a module without one",
          "add `py_stmt`, or write the body: `torchscript = \"y = torch.mm(x, w)\"`");
    }
    const bool has_text = python != statements.end() && python->text;
    benchmark_.torchscript = has_text ? *python->text : Text{"", read_.place("torchscript")};
  }

  void read_signature() {
    const std::optional<Text> text = read_.text("signature");
    if (text) {
      auto signature = parse_signature(*text);
      if (signature) {
        benchmark_.signature = std::move(*signature);
      } else {
        errors_.push_back(std::move(signature.error()));
      }
    }
    if (read_.has("signature")) return;
    const auto need = [&](std::string_view key) {
      read_.refuse(key, fmt::format("`{}` needs a signature", key),
                   "add for example `signature = \"f(x, w) -> y\"`");
    };
    if (benchmark_.torchscript) need("torchscript");
    if (benchmark_.package) need("package");
    if (benchmark_.autograd) need("autograd");
    for (const LanguageFacts& facts : kLanguages) {
      if (has(facts.language, "stmt") || has(facts.language, "stmts")) continue;
      for (const char* key : {"module", "modules"}) {
        if (has(facts.language, key)) need(format_key(facts.language, key));
      }
    }
  }

  void check_label_parameters() {
    for (const auto& [name, values] : benchmark_.matrix) {
      if (benchmark_.label.find("{" + name + "}") == std::string::npos) continue;
      read_.refuse("label", fmt::format("the label has the parameter `{{{}}}`", name),
                   fmt::format("leave it out: the key contains /{}=... already", name));
    }
  }

  void check_conflicts() {
    for (const char* many : {"stmts", "modules"}) check_shared_by(many);
    for (const LanguageFacts& language : kLanguages) check_orphans(language.language);
    if (benchmark_.compiles) check_compiles();
    if (!benchmark_.is_explicit) return;
    const auto conflict = [&](bool is_there, std::string_view key) {
      if (!is_there) return;
      read_.refuse(
          key,
          fmt::format("`{}` in an explicit benchmark, which is measured exactly as written", key),
          fmt::format("leave out `{}` or `explicit`", key));
    };
    conflict(benchmark_.torchscript.has_value(), "torchscript");
    conflict(benchmark_.package.has_value(), "package");
    for (const LanguageFacts& language : kLanguages) {
      for (const char* name : {"module", "modules"}) {
        const std::string key = format_key(language.language, name);
        conflict(read_.has(key), key);
      }
    }
    conflict(benchmark_.autograd, "autograd");
    conflict(read_.has("matrix"), "matrix");
    conflict(benchmark_.threads.size() > 1, "threads");
    conflict(benchmark_.devices.size() > 1, "device");
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
    if (benchmark_.torchscript && !is_of_each) {
      read_.refuse("torchscript",
                   fmt::format("`torchscript` cannot be the body of all of `{}`", key),
                   "move it to a separate [[benchmark]], with its statement");
    }
    if (benchmark_.package) {
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

  const TableReader read_;
  const BenchmarkContext& context_;
  Errors& errors_;
  GroupedBenchmark benchmark_;
};

}  // namespace

GroupedBenchmark read_benchmark(const toml::table& table, const BenchmarkContext& context,
                                Errors& errors) {
  return BenchmarkReader(table, context, errors).read();
}

}  // namespace instr
