#include "core/definitions/load.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/base/measured_tree.h"
#include "core/base/near_match.h"
#include "core/base/trim.h"
#include "core/definitions/definition_files.h"
#include "core/definitions/read_benchmark.h"

namespace instr {
namespace {

namespace fs = std::filesystem;

struct Setup {
  std::array<Text, kLanguages.size()> texts;
  SourceLocation where;
  bool is_used = false;
};

struct Include {
  fs::path path;
  SourceLocation where;
};

struct File {
  explicit File(SourceText text) : source(std::move(text)) {}

  SourceText source;
  toml::table table;
  std::vector<Include> includes;
  std::map<std::string, Setup> setups;
  std::array<std::optional<Text>, kLanguages.size()> global_setups;
  bool is_root = false;  // named by the caller, not only included

  // Including those of the includes.
  std::map<std::string, Setup*> visible_setups;
  std::vector<const File*> global_setup_files;  // those whose texts this file's benchmarks get
  // It, or a file that it includes, could not be read entirely: unknown setups may exist.
  bool is_incomplete = false;
  enum class Visit { kNot, kActive, kDone } visit = Visit::kNot;
};

class Loader {
 public:
  tl::expected<std::vector<Definition>, Errors> load(const std::vector<fs::path>& paths) {
    if (paths.empty()) {
      errors_.push_back({{}, "no definitions are given", "name a TOML file, or a folder of them"});
      return result();
    }
    const std::vector<fs::path> files = find_definition_files(paths, errors_);
    std::vector<File*> roots;
    for (const fs::path& path : files) add_root(path, roots);
    for (File* file : roots) resolve_includes(*file);
    for (const File* file : roots) read_benchmarks(*file);
    check_unused(roots);
    if (errors_.empty() && definitions_.empty()) {
      errors_.push_back({{paths.front().string(), 0, 0},
                         "there is no benchmark in these definitions",
                         "add a [[benchmark]] with a label and a stmt"});
    }
    return result();
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  tl::expected<std::vector<Definition>, Errors> result() {
    if (errors_.empty()) return std::move(definitions_);
    const auto order = [&](const Error& error) {
      const auto found = file_order_.find(error.where.file);
      return std::tuple(found == file_order_.end() ? 0 : found->second, error.where.line,
                        error.where.column);
    };
    std::stable_sort(errors_.begin(), errors_.end(),
                     [&](const Error& a, const Error& b) { return order(a) < order(b); });
    return tl::unexpected<Errors>(std::move(errors_));
  }

  void add_root(const fs::path& path, std::vector<File*>& roots) {
    Error error;
    File* file = obtain(path, error);
    if (!file) {
      errors_.push_back(std::move(error));
      is_any_broken_ = true;
      return;
    }
    if (file->is_root) return;
    file->is_root = true;
    roots.push_back(file);
  }

  // The file, read only once; null, with the reason in `error`, if it cannot be read.
  File* obtain(const fs::path& named, Error& error) {
    const fs::path path = in_measured_tree(named);
    struct stat info {};
    const bool is_there = ::stat(path.c_str(), &info) == 0;
    const Identity identity{info.st_dev, info.st_ino};
    if (is_there) {
      if (const auto known = files_.find(identity); known != files_.end())
        return known->second.get();
    }
    file_order_.emplace(path.string(), file_order_.size() + 1);
    auto source = SourceText::read(path);
    if (!source) {
      error = std::move(source.error());
      return nullptr;
    }
    auto& file = files_[identity];
    file = std::make_unique<File>(std::move(*source));
    auto table = parse_toml(file->source);
    if (!table) {
      errors_.push_back(std::move(table.error()));
      is_any_broken_ = file->is_incomplete = true;
      return file.get();
    }
    file->table = std::move(*table);
    if (!check_schema(*file)) {
      file->table.clear();
      is_any_broken_ = file->is_incomplete = true;
      return file.get();
    }
    read_file_keys(*file);
    return file.get();
  }

  // False if the file is of a newer schema, which cannot be checked further.
  bool check_schema(const File& file) {
    const toml::node* schema = file.table.get("schema");
    const auto value =
        schema && schema->is_integer() ? schema->value<std::int64_t>() : std::nullopt;
    // The table reader reports a missing value or a wrong type.
    if (!value || *value == kDefinitionSchema) return true;
    const bool is_newer = *value > kDefinitionSchema;
    errors_.push_back(
        {toml_location(*schema, file.source),
         fmt::format("this file has schema {}, and this instr_bench reads schema {}", *value,
                     kDefinitionSchema),
         is_newer ? "update instr_bench" : fmt::format("write `schema = {}`", kDefinitionSchema)});
    return !is_newer;
  }

  void read_file_keys(File& file) {
    const TableReader read(file.table, "a definition file", file_keys(), file.source, errors_);
    const fs::path folder = fs::path(file.source.path()).parent_path();
    for (const Text& include : read.texts("include")) {
      file.includes.push_back({folder / include.code, include.where});
    }
    for (const LanguageFacts& language : kLanguages) {
      file.global_setups[static_cast<std::size_t>(language.language)] =
          read.text(format_key(language.language, "global_setup"));
    }
    const toml::table* setups = read.table("setups");
    if (!setups) return;
    for (const TomlEntry& entry : list_entries(*setups, file.source)) read_setup(file, entry);
  }

  void read_setup(File& file, const TomlEntry& entry) {
    const toml::table* table = entry.value->as_table();
    if (!table) {
      errors_.push_back(
          {toml_location(*entry.value, file.source),
           fmt::format("`setups.{}` must be a table, not {}", entry.name,
                       describe_kind(*entry.value)),
           fmt::format("write [setups.{}] and below it `cpp = \"...\"`", entry.name)});
      is_any_broken_ = file.is_incomplete = true;
      return;
    }
    const TableReader read(*table, fmt::format("[setups.{}]", entry.name), setup_keys(),
                           file.source, errors_);
    Setup& setup = file.setups[entry.name];
    setup.where = entry.where;
    bool has_any = false;
    bool is_any_blank = false;
    for (const LanguageFacts& language : kLanguages) {
      Text& text = setup.texts[static_cast<std::size_t>(language.language)];
      if (auto given = read.text(language.name)) text = std::move(*given);
      const bool is_blank_here = is_blank(text.code) && read.get(language.name);
      is_any_blank = is_any_blank || is_blank_here;
      has_any = has_any || read.has(language.name);
    }
    if (is_any_blank || !has_any) {
      errors_.push_back({entry.where, fmt::format("setup `{}` is empty", entry.name),
                         "add for example `cpp = \"auto x = torch::rand({4, 4});\"`"});
    }
  }

  // Depth first; `chain_` holds the files on the way here.
  void resolve_includes(File& file) {
    if (file.visit == File::Visit::kDone) return;
    file.visit = File::Visit::kActive;
    chain_.push_back(&file);
    for (const Include& include : file.includes) {
      File* included = open_include(include);
      if (!included) {
        is_any_broken_ = file.is_incomplete = true;
        continue;
      }
      resolve_includes(*included);
      take_over(file, *included, include.where);
    }
    for (auto& [name, setup] : file.setups) add_visible(file, name, setup, setup.where);
    file.global_setup_files.push_back(&file);
    chain_.pop_back();
    file.visit = File::Visit::kDone;
  }

  // Null, after adding the error, if it cannot be read or would close a cycle.
  File* open_include(const Include& include) {
    Error error;
    File* file = obtain(include.path, error);
    if (!file) {
      // The include's own place is where to correct it, unless the place is in the included file.
      const bool has_place = error.where.line > 0;
      errors_.push_back(
          {has_place ? error.where : include.where,
           has_place ? error.what
                     : fmt::format("included file `{}` {}", include.path.string(), error.what),
           has_place ? error.advice
                     : "the path of an include is relative to the file that includes"});
      return nullptr;
    }
    if (file->visit != File::Visit::kActive) return file;
    std::string names;
    for (auto at = std::find(chain_.begin(), chain_.end(), file); at != chain_.end(); ++at) {
      names += (*at)->source.path() + " -> ";
    }
    errors_.push_back(
        {include.where, "include cycle: " + names + file->source.path(),
         "remove one of these includes; move the shared part into a file of its own"});
    return nullptr;
  }

  void take_over(File& file, const File& included, const SourceLocation& where) {
    file.is_incomplete |= included.is_incomplete;
    for (const auto& [name, setup] : included.visible_setups)
      add_visible(file, name, *setup, where);
    for (const File* giver : included.global_setup_files) {
      auto& all = file.global_setup_files;
      if (std::find(all.begin(), all.end(), giver) == all.end()) all.push_back(giver);
    }
  }

  void add_visible(File& file, const std::string& name, Setup& setup, const SourceLocation& where) {
    const auto [found, is_new] = file.visible_setups.emplace(name, &setup);
    if (is_new || found->second == &setup) return;
    setup.is_used = true;  // it is unclear which of the two is used
    const auto place = [](const Setup& s) {
      return fmt::format("{}:{}:{}", s.where.file, s.where.line, s.where.column);
    };
    errors_.push_back({where,
                       fmt::format("two setups have the name `{}`: at {} and at {}", name,
                                   place(*found->second), place(setup)),
                       "rename one of them"});
  }

  const Text* find_setup(const File& file, const std::string& name, Language language,
                         const SourceLocation& where) {
    const auto found = file.visible_setups.find(name);
    if (found != file.visible_setups.end()) {
      found->second->is_used = true;
      const auto& texts = found->second->texts;
      const Text& text = texts[static_cast<std::size_t>(language)];
      if (!is_blank(text.code)) return &text;
      const bool is_empty = std::all_of(texts.begin(), texts.end(),
                                        [](const Text& one) { return is_blank(one.code); });
      if (is_empty) return nullptr;  // that is an error of its own
      const LanguageFacts& facts = facts_of(language);
      errors_.push_back({where, fmt::format("setup `{}` has no {}", name, facts.title),
                         fmt::format("add for example `{} = \"{}\"` to [setups.{}]", facts.name,
                                     facts.example_setup, name)});
      return nullptr;
    }
    if (file.is_incomplete) return nullptr;  // it may be in the part that could not be read
    std::vector<std::string> known;
    for (const auto& [known_name, setup] : file.visible_setups) known.push_back(known_name);
    // A misspelt name is one error: the setup that was meant is not reported as unused, too.
    if (const auto near = nearest(name, known)) file.visible_setups.at(*near)->is_used = true;
    errors_.push_back({where, fmt::format("no setup has the name `{}`", name),
                       known.empty()
                           ? fmt::format("add [setups.{}], or include the file that has it", name)
                           : did_you_mean(name, known)});
    return nullptr;
  }

  void read_benchmarks(const File& file) {
    const toml::node* node = file.table.get("benchmark");
    const toml::array* benchmarks = node ? node->as_array() : nullptr;
    const toml::node* build = file.table.get("build");
    BenchmarkContext context{
        file.source,
        [&](const std::string& name, Language language, const SourceLocation& where) {
          return find_setup(file, name, language, where);
        },
        {},
        build && build->is_table() ? read_build(*build->as_table(), file.source, errors_)
                                   : nullptr};
    for (const File* giver : file.global_setup_files) {
      for (std::size_t i = 0; i < kLanguages.size(); ++i) {
        const auto& text = giver->global_setups[i];
        if (text && !is_blank(text->code)) context.global_setups[i].push_back(*text);
      }
    }
    if (!benchmarks) return;
    for (const toml::node& benchmark : *benchmarks) {
      if (!benchmark.is_table()) continue;
      // Setups that a malformed `use` was meant to name are not reported as unused.
      const toml::node* use = benchmark.as_table()->get("use");
      const toml::array* list = use ? use->as_array() : nullptr;
      const bool is_right =
          list ? list->empty() || list->is_homogeneous<std::string>() : !use || use->is_string();
      if (!is_right) is_any_broken_ = true;
      auto definitions = read_benchmark(*benchmark.as_table(), context, errors_);
      std::move(definitions.begin(), definitions.end(), std::back_inserter(definitions_));
    }
  }

  // A setup in a file that is only included may be there for files not loaded now.
  void check_unused(const std::vector<File*>& roots) {
    if (is_any_broken_) return;
    for (const File* file : roots) {
      for (const auto& [name, setup] : file->setups) {
        if (setup.is_used) continue;
        errors_.push_back(
            {setup.where, fmt::format("no benchmark uses the setup `{}`", name),
             fmt::format("add `use = [\"{}\"]` to a benchmark, or remove the setup", name)});
      }
    }
  }

  Errors errors_;
  std::vector<Definition> definitions_;
  std::map<Identity, std::unique_ptr<File>> files_;
  std::map<std::string, std::size_t> file_order_;  // for sorting the errors
  std::vector<const File*> chain_;
  bool is_any_broken_ = false;
};

}  // namespace

tl::expected<std::vector<Definition>, Errors> load_definitions(const std::vector<fs::path>& paths) {
  return Loader().load(paths);
}

tl::expected<std::shared_ptr<const BuildOptions>, Errors> load_build(const fs::path& file) {
  TRY_ASSIGN(auto source, SourceText::read(in_measured_tree(file)));
  TRY_ASSIGN(auto table, parse_toml(source));
  const toml::node* build = table.get("build");
  if (build == nullptr || !build->is_table()) {
    return tl::unexpected(Errors{{source.at(1, 1), "this file has no [build] table",
                                  "add one; docs/DEFINITIONS.md says what it holds"}});
  }
  Errors errors;
  auto options = read_build(*build->as_table(), source, errors);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return options;
}

}  // namespace instr
