#include "core/definitions/declarations.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/near_match.h"
#include "core/base/text.h"
#include "core/definitions/definition_keys.h"

namespace instr {

namespace {

// Variables that a process reads when it starts or imports torch: a setting would come too late.
constexpr std::string_view kReadOnImport[] = {"TORCH", "PYTORCH_", "ATEN_", "OMP_",   "GOMP_",
                                              "KMP_",  "MKL_",     "LD_",   "PYTHON", "MALLOC_"};

// Returns the value as Python writes it; an error for a date or a time.
Expected<std::string> to_python(const toml::node& node, const SourceText& source) {
  if (const auto* text = node.as_string()) return to_python_literal(text->get());
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) {
    const double value = number->get();
    return std::isfinite(value) ? nlohmann::json(value).dump() : fmt::format("float('{}')", value);
  }
  if (const auto* flag = node.as_boolean()) return flag->get() ? "True" : "False";
  std::string items;
  if (const auto* list = node.as_array()) {
    for (const toml::node& element : *list) {
      TRY_ASSIGN(const auto item, to_python(element, source));
      items += item + ", ";
    }
    return "[" + items + "]";
  }
  if (const auto* table = node.as_table()) {
    for (const TomlEntry& entry : list_entries(*table, source)) {
      TRY_ASSIGN(const auto item, to_python(*entry.value, source));
      items += to_python_literal(entry.name) + ": " + item + ", ";
    }
    return "{" + items + "}";
  }
  return fail_at(toml_location(node, source), "this is " + describe_kind(node),
                 "write a string, a number, true or false, or a list or table of them");
}

// Returns the value of a key as Python; empty if it is absent or was reported.
std::string read_python(const TableReader& read, std::string_view key, const SourceText& source) {
  const toml::table* table = read.table(key);
  if (table == nullptr) return "";
  auto python = to_python(*table, source);
  if (!python) read.add_error(python.error().where, python.error());
  return python.value_or("");
}

void read_import(const TableReader& read, OwnBackend& backend) {
  const auto text = read.text("import");
  if (!text) return;
  static const RE2 kImport(R"(([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?::([A-Za-z_]\w*))?)");
  if (!RE2::FullMatch(text->code, kImport, &backend.module, &backend.function)) {
    read.refuse("import", fmt::format("`{}` is not the name of a Python module", text->code),
                "write `import = \"my_package.my_module\"`, or with the function that is the "
                "backend: `import = \"my_module:my_backend\"`");
  }
}

DeclaredBackend read_backend(const toml::table& table, const SourceText& source, Errors& errors) {
  const TableReader read(table, "[[backend]]", backend_keys(), source, errors);
  DeclaredBackend backend;
  backend.where = toml_location(table, source);
  backend.name = read.string("name");
  backend.mode = read.string("mode");
  backend.is_fullgraph = read.boolean("fullgraph");
  read_import(read, backend);
  backend.options = read_python(read, "options", source);
  if (backend.name.empty()) return backend;  // reported
  const auto known = parse_backend(backend.name);
  if (!known || backend.name.find(':') != std::string::npos || backend.name == "all") {
    read.refuse("name", fmt::format("`{}` is not a name for a backend", backend.name),
                "use letters, digits, _, - and dots, and begin with a letter");
  } else if (is_in_table(*known)) {
    read.refuse("name", fmt::format("`{}` is a backend of instr_bench", backend.name),
                "give this one another name");
  }
  if (!backend.mode.empty() && !backend.options.empty()) {
    read.refuse("options", "torch.compile() takes either `mode` or `options`", "leave out one");
  }
  return backend;
}

void read_environment(const TableReader& read, const SourceText& source, Setting& setting) {
  const toml::table* table = read.table("environment");
  if (table == nullptr) return;
  for (const TomlEntry& entry : list_entries(*table, source)) {
    if (!is_identifier(entry.name)) {
      read.add_error(entry.where, fmt::format("`{}` is not the name of a variable", entry.name),
                     "use letters, digits and _, and do not begin with a digit");
    }
    const bool is_too_late = std::ranges::any_of(
        kReadOnImport, [&](std::string_view start) { return entry.name.starts_with(start); });
    if (is_too_late) {
      read.add_error(entry.where,
                     fmt::format("{} is read before a setting takes effect: when the process "
                                 "starts, or imports torch",
                                 entry.name),
                     "set it by `inductor`, `dynamo`, `functorch` or `torch`, or for the whole run "
                     "in your shell");
    }
    setting.environment.emplace_back(entry.name, entry.value->as_string()->get());
  }
}

void read_config(const TableReader& read, const char* group, const SourceText& source,
                 Setting& setting) {
  const toml::table* table = read.table(group);
  if (table == nullptr) return;
  // { triton.cudagraphs = true } is a table in TOML, and a name with a dot in torch.
  const auto add = [&](const auto& self, const toml::table& part,
                       const std::string& prefix) -> void {
    for (const TomlEntry& entry : list_entries(part, source)) {
      const std::string name = prefix + entry.name;
      if (const auto* inner = entry.value->as_table()) {
        self(self, *inner, name + ".");
        continue;
      }
      auto value = to_python(*entry.value, source);
      if (!value) read.add_error(value.error().where, value.error());
      setting.config.push_back({group, name, value.value_or(""), entry.where});
    }
  };
  add(add, *table, "");
}

Setting read_setting(const toml::table& table, const SourceText& source, Errors& errors) {
  const std::size_t before = errors.size();
  const TableReader read(table, "[[setting]]", setting_keys(), source, errors);
  Setting setting;
  setting.where = toml_location(table, source);
  setting.name = read.string("name");
  read_environment(read, source, setting);
  for (const char* group : {"inductor", "dynamo", "functorch"}) {
    read_config(read, group, source, setting);
  }
  setting.torch = read.code("torch");
  static const RE2 kName(R"([A-Za-z0-9_][\w.+-]*)");
  if (!setting.name.empty() && !RE2::FullMatch(setting.name, kName)) {
    read.refuse("name", fmt::format("`{}` is not a name for a setting", setting.name),
                "use letters, digits, _, +, - and dots");
  } else if (setting.name == kDefaultSetting) {
    read.refuse("name", "`default` is the setting in which nothing is set", "give it another name");
  }
  if (setting.environment.empty() && setting.config.empty() && !setting.torch &&
      errors.size() == before) {
    read.add_error(setting.where, fmt::format("the setting `{}` sets nothing", setting.name),
                   "add for example `inductor = { freezing = true }`");
  }
  return setting;
}

Error repeated(const char* what, const std::string& name, const SourceLocation& where,
               const SourceLocation& other) {
  return {
      where,
      fmt::format("two {}s have the name `{}`; the other is at {}", what, name, to_string(other)),
      "rename one of them"};
}

const std::string& name_of(const std::shared_ptr<const Setting>& setting) { return setting->name; }

template <class Read>
void read_each(const toml::table& file, const char* key, const Read& read) {
  const toml::array* tables = file[key].as_array();
  if (tables == nullptr) return;
  for (const toml::node& each : *tables) {
    if (each.is_table()) read(*each.as_table());  // others were reported
  }
}

}  // namespace

// A string literal of JSON is also valid in Python.
std::string to_python_literal(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                   nlohmann::json::error_handler_t::replace);
}

void read_declarations(const toml::table& file, const SourceText& source, Errors& errors,
                       Declarations& into) {
  read_each(file, "backend", [&](const toml::table& table) {
    DeclaredBackend backend = read_backend(table, source, errors);
    const auto same = std::ranges::find(into.backends, backend.name, &DeclaredBackend::name);
    if (same != into.backends.end()) {
      return errors.push_back(repeated("backend", backend.name, backend.where, same->where));
    }
    into.backends.push_back(std::move(backend));
  });
  read_each(file, "setting", [&](const toml::table& table) {
    Setting setting = read_setting(table, source, errors);
    const auto same = std::ranges::find(into.settings, setting.name, name_of);
    if (same != into.settings.end()) {
      return errors.push_back(repeated("setting", setting.name, setting.where, (*same)->where));
    }
    into.settings.push_back(std::make_shared<const Setting>(std::move(setting)));
  });
}

Expected<std::vector<std::shared_ptr<const Setting>>> find_settings(
    const std::vector<std::string>& names, const Declarations& declarations) {
  std::vector<std::shared_ptr<const Setting>> settings;
  for (const std::string& name : names) {
    if (name == kDefaultSetting) {
      settings.push_back(nullptr);
      continue;
    }
    const auto known = std::ranges::find(declarations.settings, name, name_of);
    if (known == declarations.settings.end()) {
      std::vector<std::string> all{kDefaultSetting};
      for (const auto& setting : declarations.settings) all.push_back(setting->name);
      return fail(fmt::format("no [[setting]] of these definitions has the name `{}`", name),
                  did_you_mean(name, all));
    }
    settings.push_back(*known);
  }
  return settings;
}

}  // namespace instr
