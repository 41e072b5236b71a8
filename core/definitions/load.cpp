#include "core/definitions/load.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <system_error>

#include "core/base/checkout_guard.h"
#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/definitions/read_benchmark.h"

namespace instr {
namespace {

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
  std::map<std::string, std::string> limits;
  bool is_root = false;  // named by the caller, not only included

  std::map<std::string, Setup*> visible_setups;  // those of this file and of its includes
  std::vector<const File*> global_setup_files;   // files whose setups this file's benchmarks get
  bool is_incomplete = false;  // the file or an include is partly unread: setups may be unknown
  enum class Visit { kNot, kActive, kDone } visit = Visit::kNot;
};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

void add_folder(const fs::path& folder, std::vector<fs::path>& files, Errors& errors) {
  std::error_code error;
  const std::size_t before = files.size();
  fs::recursive_directory_iterator at(folder, error), end;
  while (!error && at != end) {
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
    } else if (at->path().extension() == ".toml" && !at->is_directory(error)) {
      files.push_back(at->path());
    }
    at.increment(error);
  }
  if (error) {
    errors.push_back({{folder.string(), 0, 0},
                      "this folder cannot be read: " + error.message(),
                      "check the permissions of it and of the folders in it"});
  } else if (files.size() == before) {
    errors.push_back({{folder.string(), 0, 0},
                      "no definition file (*.toml) in this folder",
                      "name a folder that has one, or a file"});
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
}

// Lists the files, and all *.toml below the folders, sorted by path; skips names that begin with a
// dot. Relative paths stay relative. Adds unreadable paths and folders without a definition file to
// `errors`.
std::vector<fs::path> find_definition_files(const std::vector<fs::path>& paths, Errors& errors) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code ignored;  // anything else is read as a file, which gives the better message
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files, errors);
    } else {
      files.push_back(path);
    }
  }
  return files;
}

class Loader {
 public:
  tl::expected<Definitions, Errors> load(const std::vector<fs::path>& paths) {
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
    if (errors_.empty() && loaded_.benchmarks.empty()) {
      errors_.push_back({{paths.front().string(), 0, 0},
                         "there is no benchmark in these definitions",
                         "add a [[benchmark]] with a label and a stmt"});
    }
    return result();
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  tl::expected<Definitions, Errors> result() {
    if (errors_.empty()) return std::move(loaded_);
    const auto order = [&](const Error& error) {
      const auto file = file_order_.find(error.where.file);
      return std::tuple(file == file_order_.end() ? 0 : file->second, error.where.line,
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

  // Returns the file, read only once; null, with the reason in `error`, if it cannot be read.
  File* obtain(const fs::path& named, Error& error) {
    const fs::path path = in_measured_tree(named);
    struct stat info {};
    ::stat(path.c_str(), &info);
    const Identity identity{info.st_dev, info.st_ino};  // zeros: missing, or standard input
    if (const auto known = files_.find(identity); known != files_.end()) {
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
    if (!table) errors_.push_back(std::move(table.error()));
    if (table) file->table = std::move(*table);
    if (!table || !check_schema(*file)) {
      file->table.clear();
      is_any_broken_ = file->is_incomplete = true;
    } else {
      read_file_keys(*file);
    }
    return file.get();
  }

  // Returns false if the file has a newer schema, which cannot be checked further.
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
    file.limits = read_limits(read, file.source, errors_);
    read_declarations(file.table, file.source, errors_, loaded_.declarations);
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
      is_any_blank |= is_blank(text.code) && read.get(language.name);
      has_any |= read.has(language.name);
    }
    if (is_any_blank || !has_any) {
      errors_.push_back({entry.where, fmt::format("setup `{}` is empty", entry.name),
                         "add for example `cpp = \"auto x = torch::rand({4, 4});\"`"});
    }
  }

  // Depth first; `chain_` holds the files that led here.
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

  // Returns null, after adding an error, if the file cannot be read or would close a cycle.
  File* open_include(const Include& include) {
    Error error;
    File* file = obtain(include.path, error);
    if (!file) {
      if (error.where.line == 0) {
        error = {include.where,
                 fmt::format("included file `{}` {}", include.path.string(), error.what),
                 "the path of an include is relative to the file that includes"};
      }
      errors_.push_back(std::move(error));
      return nullptr;
    }
    if (file->visit != File::Visit::kActive) return file;
    std::string names;
    for (auto at = std::find(chain_.begin(), chain_.end(), file); at != chain_.end(); ++at) {
      names += (*at)->source.path() + " -> ";
    }
    errors_.push_back({include.where, "include cycle: " + names + file->source.path(),
                       "remove one of these includes; move the shared part into a separate file"});
    return nullptr;
  }

  void take_over(File& file, const File& included, const SourceLocation& where) {
    file.is_incomplete |= included.is_incomplete;
    for (const auto& [name, setup] : included.visible_setups)
      add_visible(file, name, *setup, where);
    for (const File* provider : included.global_setup_files) {
      auto& all = file.global_setup_files;
      if (std::find(all.begin(), all.end(), provider) == all.end()) all.push_back(provider);
    }
  }

  void add_visible(File& file, const std::string& name, Setup& setup, const SourceLocation& where) {
    const auto [it, is_new] = file.visible_setups.emplace(name, &setup);
    if (is_new || it->second == &setup) return;
    setup.is_used = true;  // it is unclear which of the two is used
    errors_.push_back({where,
                       fmt::format("two setups have the name `{}`: at {} and at {}", name,
                                   to_string(it->second->where), to_string(setup.where)),
                       "rename one of them"});
  }

  const Text* find_setup(const File& file, const std::string& name, Language language,
                         const SourceLocation& where) {
    const auto setup = file.visible_setups.find(name);
    if (setup != file.visible_setups.end()) {
      setup->second->is_used = true;
      const auto& texts = setup->second->texts;
      const Text& text = texts[static_cast<std::size_t>(language)];
      if (!is_blank(text.code)) return &text;
      const bool is_empty = std::all_of(texts.begin(), texts.end(),
                                        [](const Text& each) { return is_blank(each.code); });
      if (is_empty) return nullptr;  // already reported
      const LanguageFacts& facts = facts_of(language);
      errors_.push_back({where, fmt::format("setup `{}` has no {}", name, facts.title),
                         fmt::format("add for example `{} = \"{}\"` to [setups.{}]", facts.name,
                                     facts.example_setup, name)});
      return nullptr;
    }
    if (file.is_incomplete) return nullptr;  // it may be in the part that could not be read
    std::vector<std::string> known;
    for (const auto& [known_name, other] : file.visible_setups) known.push_back(known_name);
    // A misspelt name is one error: the intended setup is not also reported as unused.
    if (const auto near = nearest(name, known)) file.visible_setups.at(*near)->is_used = true;
    errors_.push_back({where, fmt::format("no setup has the name `{}`", name),
                       known.empty()
                           ? fmt::format("add [setups.{}], or include the file that has it", name)
                           : did_you_mean(name, known)});
    return nullptr;
  }

  void read_benchmarks(const File& file) {
    const toml::array* benchmarks = file.table["benchmark"].as_array();
    const toml::table* build = file.table["build"].as_table();
    BenchmarkContext context{
        file.source,
        [&](const std::string& name, Language language, const SourceLocation& where) {
          return find_setup(file, name, language, where);
        },
        {},
        build ? read_build(*build, file.source, errors_) : nullptr,
        file.limits};
    for (const File* provider : file.global_setup_files) {
      for (std::size_t i = 0; i < kLanguages.size(); ++i) {
        const auto& text = provider->global_setups[i];
        if (text && !is_blank(text->code)) context.global_setups[i].push_back(*text);
      }
    }
    if (!benchmarks) return;
    for (const toml::node& benchmark : *benchmarks) {
      if (!benchmark.is_table()) continue;
      // After a malformed `use`, no setup is reported as unused.
      const toml::node* use = benchmark.as_table()->get("use");
      const toml::array* list = use ? use->as_array() : nullptr;
      is_any_broken_ |=
          list ? !list->empty() && !list->is_homogeneous<std::string>() : use && !use->is_string();
      loaded_.benchmarks.push_back(read_benchmark(*benchmark.as_table(), context, errors_));
    }
  }

  // A setup in a file that is only included may be used by files that are not loaded now.
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
  Definitions loaded_;
  std::map<Identity, std::unique_ptr<File>> files_;
  std::map<std::string, std::size_t> file_order_;  // file -> order of its errors
  std::vector<const File*> chain_;
  bool is_any_broken_ = false;
};

}  // namespace

tl::expected<Definitions, Errors> load_definitions(const std::vector<fs::path>& paths) {
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
  if (!errors.empty()) return fail(std::move(errors));
  return options;
}

}  // namespace instr
