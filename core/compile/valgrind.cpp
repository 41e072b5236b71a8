#include "core/compile/valgrind.h"

#include "core/base/environment.h"
#include "core/base/process.h"
#include "core/base/trim.h"

namespace instr {

namespace {

constexpr const char* kVariable = "INSTR_BENCH_VALGRIND";
constexpr const char* kAdvice =
    "install it: apt-get install valgrind; without root: conda install -c conda-forge valgrind, or "
    "unpack the package and name it by INSTR_BENCH_VALGRIND (INSTALLING.md)";

// Returns the first of these folders below the program's prefix that contains `file`; empty: none.
fs::path find_below_prefix(const fs::path& program, std::initializer_list<const char*> folders,
                           const char* file) {
  std::error_code ignored;
  const fs::path prefix = fs::absolute(program).parent_path().parent_path();
  for (const char* folder : folders) {
    if (fs::exists(prefix / folder / file, ignored)) return prefix / folder;
  }
  return {};
}

}  // namespace

Expected<Valgrind> find_valgrind(const std::optional<std::string>& requested) {
  Valgrind valgrind;
  const auto named = requested ? requested : variable_value(kVariable);
  const auto program = find_program(named.value_or("valgrind"));
  if (!program && !named) return fail("Valgrind was not found", kAdvice);
  if (!program) {
    return fail(std::string(requested ? "--valgrind" : kVariable) + " names `" + *named +
                    "`, which is no program",
                "name the program itself, such as ~/valgrind/usr/bin/valgrind");
  }
  if (named) {
    valgrind.program = fs::absolute(*program);
    valgrind.tools = find_below_prefix(
        *program, {"libexec/valgrind", "lib/valgrind", "lib64/valgrind"}, "default.supp");
    valgrind.headers = find_below_prefix(*program, {"include"}, "valgrind/callgrind.h");
  }
  if (const auto tools = variable_value("VALGRIND_LIB")) valgrind.tools = *tools;
  SpawnOptions spawn;
  spawn.argv = {valgrind.program.string(), "--version"};
  if (!valgrind.tools.empty()) {
    spawn.environment = own_environment({{"VALGRIND_LIB", valgrind.tools.string()}});
  }
  TRY_ASSIGN(auto result, run_command(spawn));
  if (result.exit_code != 0) return fail("Valgrind does not run: " + result.errors, kAdvice);
  valgrind.version = trim_end(result.output, "\n");
  return valgrind;
}

}  // namespace instr
