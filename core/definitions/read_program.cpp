#include "core/definitions/read_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/checkout_guard.h"

namespace instr {

namespace {

using KeyNames = std::vector<std::string_view>;

// The keys that only a benchmark with a `command` has.
const KeyNames kOfCommand{"stdin", "exit_status", "children", "environment", "google_benchmark"};

bool is_in(const KeyNames& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Refuses keys that a benchmark with `key` does not use. `used`: those that it may have.
void refuse_unused(const TableReader& read, const char* key, KeyNames used) {
  used.insert(used.end(), {key, "label", "description", "limit", "tags", "timeout"});
  for (const Key& each : benchmark_keys()) {
    if (!read.has(each.name) || is_in(used, each.name)) continue;
    read.refuse(each.name, fmt::format("`{}` in a benchmark with `{}`", each.name, key),
                "leave it out, or move it to a separate [[benchmark]]");
  }
}

void read_options_of(const TableReader& read, const SourceText& source, Program& program) {
  if (read.boolean("google_benchmark")) program.kind = ProgramKind::kGoogleBenchmark;
  if (const toml::table* variables = read.table("environment")) {
    for (const TomlEntry& entry : list_entries(*variables, source)) {
      program.environment.emplace_back(entry.name, entry.value->as_string()->get());
    }
  }
  if (const auto file = read.code("stdin")) {
    program.standard_input = in_measured_tree(source.beside(file->code));
  }
  program.exit_status = read.integer("exit_status").value_or(0);
  program.has_children = read.boolean("children");
}

}  // namespace

std::shared_ptr<const Program> read_program(const TableReader& read, const SourceText& source) {
  Program program;
  program.folder = in_measured_tree(source.beside("x").parent_path());
  if (read.has("command")) {
    KeyNames used = kOfCommand;
    used.emplace_back("matrix");
    refuse_unused(read, "command", std::move(used));
    program.command = read.strings("command");
    read_options_of(read, source, program);
    if (program.command.empty() || program.command.front().empty()) {
      read.refuse("command", "`command` names no program",
                  "write for example `command = [\"build/server\", \"--check\"]`");
    }
    return std::make_shared<const Program>(std::move(program));
  }
  for (const std::string_view key : kOfCommand) {
    if (!read.has(key)) continue;
    read.refuse(key, fmt::format("`{}` in a benchmark without a `command`", key),
                "add `command = [\"PROGRAM\", ...]`, or leave it out");
  }
  if (!read.has("import")) return nullptr;
  refuse_unused(read, "import", {});
  const auto module = read.code("import");
  program.kind = ProgramKind::kImport;
  program.command = {module ? module->code : ""};
  return std::make_shared<const Program>(std::move(program));
}

}  // namespace instr
