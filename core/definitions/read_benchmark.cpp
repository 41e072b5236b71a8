#include "core/definitions/read_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <system_error>
#include <unordered_set>

#include "core/base/checkout_guard.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/base/text.h"
#include "core/definitions/expand.h"
#include "core/definitions/read_program.h"
#include "core/definitions/requirement.h"
#include "core/definitions/snippet.h"

namespace instr {

namespace {

std::vector<fs::path> read_paths(const TableReader& read, std::string_view key,
                                 const SourceText& source) {
  std::vector<fs::path> result;
  for (const Text& path : read.texts(key)) {
    if (path.empty()) {
      read.add_error(path.where, fmt::format("`{}` has an empty path", key),
                     "name a file or folder");
    }
    result.push_back(in_measured_tree(source.beside(path.code)));
  }
  return result;
}

// Reads the paths of source files, in their order, each once; those that a path with wildcards
// matches are sorted.
std::vector<fs::path> read_sources(const TableReader& read, const SourceText& source) {
  constexpr const char* kRelative = "paths in [build] are relative to the folder of this file";
  std::vector<fs::path> files;
  const auto add = [&files](const fs::path& file) {
    const fs::path measured = in_measured_tree(file);
    if (std::ranges::find(files, measured) == files.end()) files.push_back(measured);
  };
  const std::vector<Text> written = read.texts("sources");
  const std::vector<fs::path> paths = read_paths(read, "sources", source);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::error_code error;
    const bool is_there = fs::is_regular_file(paths[i], error);
    const auto matches =
        is_there || !has_wildcard(paths[i]) ? std::vector<fs::path>{} : find_matches(paths[i]);
    if (is_there) add(paths[i]);
    for (const fs::path& match : matches) add(match);
    if (is_there || !matches.empty()) continue;
    read.add_error(written[i].where,
                   has_wildcard(paths[i])
                       ? fmt::format("no file matches `{}`", paths[i].string())
                       : fmt::format("there is no source file `{}`", paths[i].string()),
                   kRelative);
  }
  return files;
}

// Returns the top folder of the repository that contains this folder, else the folder itself.
fs::path find_root(const fs::path& folder) {
  std::error_code error;
  for (fs::path top = folder; top.has_relative_path(); top = top.parent_path()) {
    if (fs::exists(top / ".git", error)) return top;
  }
  return folder.has_relative_path() ? folder : fs::path();
}

std::vector<std::string> read_strings(const TableReader& read, std::string_view key) {
  for (const Text& text : read.texts(key)) {
    if (text.empty()) {
      read.add_error(text.where, fmt::format("`{}` has an empty string", key), "leave it out");
    }
  }
  return read.strings(key);
}

std::vector<std::pair<std::string, std::string>> read_defines(const TableReader& read,
                                                              const SourceText& source) {
  std::vector<std::pair<std::string, std::string>> result;
  const toml::table* table = read.table("defines");
  if (!table) return result;
  for (const TomlEntry& entry : list_entries(*table, source)) {
    if (!is_identifier(entry.name)) {
      read.add_error(entry.where, fmt::format("`{}` is not a valid macro name", entry.name),
                     "use letters, digits and _, and do not begin with a digit");
    }
    const auto* integer = entry.value->as_integer();
    result.emplace_back(entry.name,
                        integer ? std::to_string(integer->get()) : entry.value->as_string()->get());
  }
  return result;
}

std::string format_float(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string format_value(const toml::node& value) {
  if (const auto* integer = value.as_integer()) return std::to_string(integer->get());
  if (const auto* number = value.as_floating_point()) return format_float(number->get());
  if (const auto* boolean = value.as_boolean()) return boolean->get() ? "true" : "false";
  return value.as_string()->get();
}

std::size_t size_of(const toml::node& values) {
  return values.is_array() ? values.as_array()->size() : 1;
}

// Returns false, after adding an error, if the value cannot be used.
bool check_value(const TableReader& benchmark, const toml::node& value, const std::string& text,
                 const SourceLocation& where) {
  const auto* number = value.as_floating_point();
  if (number && !std::isfinite(number->get())) {
    benchmark.add_error(where, fmt::format("{} has no literal in C++", text),
                        "write it as code, in quotes");
    return false;
  }
  if (!is_plain_line(text)) {
    benchmark.add_error(where, "this value has an invisible character",
                        "values are a part of the key: one line of plain text");
    return false;
  }
  return true;
}

std::vector<std::string> read_values(const TableReader& benchmark, const TomlEntry& entry,
                                     const SourceText& source) {
  std::vector<std::string> result;
  std::unordered_set<std::string> seen;
  const auto add = [&](const toml::node& value) {
    std::string text = format_value(value);
    const SourceLocation where = toml_location(value, source);
    if (!check_value(benchmark, value, text, where)) return;
    if (!seen.insert(text).second) {
      benchmark.add_error(where, fmt::format("`matrix.{}` has {} twice", entry.name, text),
                          "name each value once");
      return;
    }
    result.push_back(std::move(text));
  };
  if (const toml::array* list = entry.value->as_array()) {
    for (const toml::node& value : *list) add(value);
  } else {
    add(*entry.value);
  }
  return result;
}

std::string format_variant_count(std::uint64_t count) {
  return count == std::numeric_limits<std::uint64_t>::max() ? "more than 10^19"
                                                            : std::to_string(count);
}

template <class T>
void refuse_repeated(const TableReader& read, std::string_view key, const std::vector<T>& values) {
  std::set<T> seen;
  for (const T& value : values) {
    if (!seen.insert(value).second) {
      read.refuse(key, fmt::format("`{}` has {} twice", key, value), "name each value once");
    }
  }
}

void refuse_empty_list(const TableReader& read, std::string_view key) {
  const toml::node* value = read.get(key);
  if (value && value->is_array() && value->as_array()->empty()) {
    read.refuse(key, fmt::format("`{}` is an empty list", key),
                "add a value, or leave the key out");
  }
}

void read_threads_and_devices(const TableReader& read, GroupedBenchmark& benchmark) {
  for (const char* key : {"threads", "device"}) refuse_empty_list(read, key);
  if (auto threads = read.integers("threads"); !threads.empty()) {
    refuse_repeated(read, "threads", threads);
    benchmark.threads = std::move(threads);
  }
  if (auto devices = read.strings("device"); !devices.empty()) {
    refuse_repeated(read, "device", devices);
    benchmark.devices = std::move(devices);
    benchmark.names_devices = true;
  }
}

void read_tags(const TableReader& read, Snippet& snippet) {
  snippet.tags = read.strings("tags");
  for (const Text& tag : read.texts("tags")) {
    if (is_blank(tag.code) || !is_plain_line(tag.code)) {
      read.add_error(tag.where, "this tag is empty or has an invisible character",
                     "write for example `tags = [\"slow\"]`");
    }
  }
}

void read_timeout(const TableReader& read, Snippet& snippet) {
  snippet.timeout = read.number("timeout");
  if (snippet.timeout && !is_time(*snippet.timeout)) {
    read.refuse("timeout", "`timeout` must be a number of seconds above 0, 1e6 at most",
                "write for example `timeout = 60`");
  }
}

void read_requirements(const TableReader& read, Snippet& snippet) {
  if (const std::optional<Text> requirement = read.text("libtorch")) {
    snippet.libtorch = requirement->code;
    if (auto checked = satisfies("0", requirement->code); !checked) {
      read.add_error(requirement->where, std::move(checked.error()));
    }
  }
  refuse_empty_list(read, "python");
  for (Text& text : read.texts("python")) {
    if (auto parsed = parse_package(text.code); !parsed) {
      read.add_error(text.where, std::move(parsed.error()));
    }
    snippet.packages.push_back(std::move(text.code));
  }
}

void read_tolerance(const TableReader& benchmark, const SourceText& source, Errors& errors,
                    Tolerance& tolerance) {
  if (const toml::table* table = benchmark.table("tolerance")) {
    const TableReader read(*table, "`tolerance`", tolerance_keys(), source, errors);
    tolerance.relative = read.number("rtol");
    tolerance.absolute = read.number("atol");
    for (const auto& [name, value] :
         {std::pair{"rtol", tolerance.relative}, {"atol", tolerance.absolute}}) {
      if (!value || (*value >= 0 && std::isfinite(*value))) continue;
      read.refuse(name, fmt::format("`{}` must be a finite number of at least 0", name),
                  fmt::format("write for example `tolerance = {{ {} = 1e-5 }}`", name));
    }
  }
  tolerance.cosine = benchmark.number("cosine");
  if (tolerance.cosine && !(*tolerance.cosine > 0 && *tolerance.cosine <= 1)) {
    benchmark.refuse("cosine", "`cosine` must be above 0 and at most 1",
                     "write for example `cosine = 0.99`");
  }
  tolerance.rmse = benchmark.number("rmse");
  if (tolerance.rmse && !(*tolerance.rmse > 0 && std::isfinite(*tolerance.rmse))) {
    benchmark.refuse("rmse", "`rmse` must be a finite number above 0",
                     "write for example `rmse = 1e-3`");
  }
  for (const auto& [first, second] :
       {std::pair{"cosine", "tolerance"}, {"cosine", "rmse"}, {"rmse", "tolerance"}}) {
    if (!benchmark.has(first) || !benchmark.has(second)) continue;
    benchmark.refuse(first, fmt::format("this benchmark has both `{}` and `{}`", first, second),
                     "leave one of them out");
  }
}

// An entry of a table of statements or modules. Each has a twin with its name in the other
// language, if that has a table, too.
struct Entry {
  std::string table;  // "py_stmts"
  Language language;
  std::string suffix;  // "/name", as in Statement
  SourceLocation where;
  bool is_absent;  // there is no such statement in this language
};

// The text that says so.
constexpr std::string_view kAbsent = "-";

class StatementsReader {
 public:
  StatementsReader(const TableReader& read, const SourceText& source, Language language,
                   std::vector<Statement>& statements, std::vector<Entry>& entries)
      : read_(read),
        source_(source),
        language_(language),
        statements_(statements),
        entries_(entries) {}

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
      if (!is_present(many, "/" + entry.name, module)) continue;
      if (check_not_empty(module, "module")) add("/" + entry.name, statement, std::move(module));
    }
  }

  void read_named(const toml::table& table) {
    const std::string key = format_key(language_, "stmts");
    check_names(key, table, facts_of(language_).example_stmt);
    for (const TomlEntry& entry : list_entries(table, source_)) {
      if (!entry.value->is_array()) {
        add_statement(key, "/" + entry.name, to_text(*entry.value, source_));
        continue;
      }
      const toml::array& list = *entry.value->as_array();
      if (list.empty()) {
        read_.add_error(entry.where, fmt::format("`{}.{}` is an empty list", key, entry.name),
                        "add a statement, or leave it out");
      }
      for (std::size_t i = 0; i < list.size(); ++i) {
        add_statement(key, fmt::format("/{}/{}", entry.name, i), to_text(list[i], source_));
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

  void add_statement(const std::string& table, std::string suffix, Text text) {
    if (!is_present(table, suffix, text)) return;
    if (check_not_empty(text, "statement")) add(std::move(suffix), std::move(text), std::nullopt);
  }

  // Keeps the entry; returns false if its text says that there is none in this language.
  bool is_present(const std::string& table, const std::string& suffix, const Text& text) {
    const bool is_absent = text.code == kAbsent;
    entries_.push_back({table, language_, suffix, text.where, is_absent});
    return !is_absent;
  }

  void add(std::string suffix, std::optional<Text> text, std::optional<Text> module) {
    statements_.push_back({language_, std::move(suffix), std::move(text), std::move(module)});
  }

  const TableReader& read_;
  const SourceText& source_;
  const Language language_;
  std::vector<Statement>& statements_;
  std::vector<Entry>& entries_;
};

// Refuses entries without a twin in the other language's table, so that no statement stands beside
// one that computes something else.
void check_twins(const TableReader& read, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    const auto is_of_other = [&entry](const Entry& it) { return it.language != entry.language; };
    const auto other = std::ranges::find_if(entries, is_of_other);
    const std::string name = entry.suffix.substr(1);
    const auto twin = std::ranges::find_if(
        entries, [&](const Entry& it) { return is_of_other(it) && it.suffix == entry.suffix; });
    if (entry.is_absent && (twin == entries.end() || twin->is_absent)) {
      read.add_error(entry.where, fmt::format("`{}` is \"-\" in all languages", name),
                     "write its statement in one, or leave it out");
    } else if (other != entries.end() && twin == entries.end()) {
      read.add_error(entry.where,
                     fmt::format("`{}` is in `{}`, but not in `{}` at {}", name, entry.table,
                                 other->table, to_string(other->where)),
                     fmt::format("add it there; \"{}\" says that it has no twin", kAbsent));
    }
  }
}

// Reads the options that are the same for all statements and languages: threads, devices, tags and
// so on; limits of the benchmark replace those that `benchmark` has.
void read_options(const TableReader& read, const SourceText& source, Errors& errors,
                  GroupedBenchmark& benchmark) {
  read_threads_and_devices(read, benchmark);
  read_tags(read, benchmark);
  benchmark.is_only_timed = read.boolean("timed");
  benchmark.compiles = read.boolean("compiles");
  benchmark.warmup = read.integer("warmup");
  benchmark.iterations = read.integer("iterations");
  if (benchmark.iterations.value_or(1) != 1 && is_counted_once(benchmark)) {
    const char* key = benchmark.compiles ? "compiles" : "warmup";
    read.refuse("iterations", fmt::format("with this `{}` a single iteration is counted", key),
                fmt::format("leave out `iterations` or `{}`", key));
  }
  read_timeout(read, benchmark);
  read_requirements(read, benchmark);
  for (auto& [metric, limit] : read_limits(read, source, errors)) {
    benchmark.limits[metric] = std::move(limit);
  }
  read_tolerance(read, source, errors, benchmark.tolerance);
}

// Reads a benchmark's `matrix`: its parameters, in the order written; values as C++ spells them (a
// float always has a point or an exponent). `variants_of_point`: the number of variants per
// combination. Adds errors to the reader: bad names, empty lists, values that repeat or that cannot
// be part of a key, and more variants than kMaxVariantsPerBenchmark, which is checked before any
// value is read.
std::vector<std::pair<std::string, std::vector<std::string>>> read_matrix(
    const TableReader& benchmark, const SourceText& source, std::uint64_t variants_of_point) {
  const toml::table* table = benchmark.table("matrix");
  if (!table) return {};
  const std::vector<TomlEntry> entries = list_entries(*table, source);
  std::uint64_t count = std::max<std::uint64_t>(variants_of_point, 1);
  for (const TomlEntry& entry : entries) {
    if (!is_identifier(entry.name)) {
      benchmark.add_error(entry.where,
                          fmt::format("`{}` is not a valid parameter name", entry.name),
                          "use letters, digits and _, and do not begin with a digit");
    }
    if (size_of(*entry.value) == 0) {
      benchmark.add_error(entry.where, fmt::format("`matrix.{}` is an empty list", entry.name),
                          "add a value, or leave the parameter out");
    }
    count = saturating_product(count, std::max<std::size_t>(size_of(*entry.value), 1));
  }
  if (count > kMaxVariantsPerBenchmark) {
    benchmark.refuse(
        "matrix",
        fmt::format("the matrix makes {} variants, more than the {} allowed for one benchmark",
                    format_variant_count(count), kMaxVariantsPerBenchmark),
        "give it fewer values, or split it into several benchmarks");
    return {};
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> matrix;
  for (const TomlEntry& entry : entries)
    matrix.emplace_back(entry.name, read_values(benchmark, entry, source));
  return matrix;
}

// Adds the statements of a [[benchmark]] table in this language, in the order written: a statement,
// many statements, or many modules.
void read_statements(const TableReader& read, const SourceText& source, Language language,
                     std::vector<Statement>& statements, std::vector<Entry>& entries) {
  StatementsReader(read, source, language, statements, entries).read();
}

// Sorts statements so that those with the same name follow each other, in the order of languages.
void sort_statements(std::vector<Statement>& statements) {
  std::map<std::string, std::size_t> order;
  for (const Statement& statement : statements) order.emplace(statement.suffix, order.size());
  std::ranges::stable_sort(
      statements, {}, [&order](const Statement& statement) { return order.at(statement.suffix); });
}

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
    if (auto program = read_program(read_, context_.source)) {
      benchmark_.program = std::move(program);
      benchmark_.statements = {{.language = Language::kProgram}};
      benchmark_.matrix = read_matrix(read_, context_.source, 1);
      check_label_parameters();
      return std::move(benchmark_);
    }
    read_shared_code();
    for (const LanguageFacts& language : kLanguages) {
      if (is_written_in(language.language)) read_language(language.language);
    }
    check_twins(read_, entries_);
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
    read_statements(read_, context_.source, language, benchmark_.statements, entries_);
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
      read_.add_error(
          benchmark_.where,
          benchmark_.label.empty()
              ? "this benchmark has no statement"
              : fmt::format("benchmark `{}` has no statement", benchmark_.label),
          "add `stmt = \"...\"`, [benchmark.stmts] or a `module` (for Python `py_stmt`, "
          "`py_stmts` or `py_module`), or a `command` or `import`");
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
    read_optimizer();
  }

  void read_optimizer() {
    benchmark_.optimizer = read_.code("optimizer");
    if (!benchmark_.optimizer) return;
    const auto name = find_optimizer_name(benchmark_.optimizer->code);
    if (!name) return read_.refuse("optimizer", name.error().what, name.error().advice);
    if (benchmark_.autograd && (read_.has("py_module") || read_.has("py_modules"))) return;
    read_.refuse("optimizer", "`optimizer` without `autograd = true` or without a module in Python",
                 "add what is missing, or leave it out");
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
  std::vector<Entry> entries_;
};

}  // namespace

GroupedBenchmark read_benchmark(const toml::table& table, const BenchmarkContext& context,
                                Errors& errors) {
  return BenchmarkReader(table, context, errors).read();
}

std::shared_ptr<const BuildOptions> read_build(const toml::table& table, const SourceText& source,
                                               Errors& errors) {
  const TableReader read(table, "[build]", build_keys(), source, errors);
  auto build = std::make_shared<BuildOptions>();
  build->where = toml_location(table, source);
  build->root = in_measured_tree(find_root(source.beside("x").parent_path()));
  build->include_dirs = read_paths(read, "include_dirs", source);
  build->sources = read_sources(read, source);
  build->libraries = read_strings(read, "libraries");
  build->library_dirs = read_paths(read, "library_dirs", source);
  build->defines = read_defines(read, source);
  build->flags = read_strings(read, "flags");
  return build;
}

std::map<std::string, std::string> read_limits(const TableReader& read, const SourceText& source,
                                               Errors& errors) {
  const toml::table* limits = read.table("limit");
  if (limits == nullptr) return {};
  return read_limit_texts(TableReader(*limits, "`limit`", limit_keys(), source, errors));
}

}  // namespace instr
