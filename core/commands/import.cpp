#include <filesystem>
#include <memory>
#include <utility>

#include "core/commands/run.h"

namespace instr {

namespace {

struct ImportOptions {
  RunOptions run = {};
  std::vector<std::string> operands = {};
};

// Makes the definition that a [[benchmark]] with `import` would be.
Expected<void> define(ImportOptions& options) {
  const std::string& module = options.operands.front();
  set_program(options.run, "import/" + module,
              {.kind = ProgramKind::kImport, .command = {module}, .folder = fs::current_path()});
  options.run.shows_modules = true;
  return {};
}

}  // namespace

Action import_command(CommandLine& line) {
  auto options = std::make_shared<ImportOptions>();
  line.describe(
      "Counts the instructions of importing a module of Python in a bare interpreter, by each "
      "module that it imports, as `import = \"MODULE\"` in a definition does. Modules are compiled "
      "before, and searching for them on sys.path is not counted.");
  line.operands({"MODULE", 1, 1}, options->operands);
  line.group("What to run");
  line.option("--python", "PROGRAM", "the interpreter (default: the active one, else python3)",
              take_text(options->run.measure.tools.python));
  line.option("--modules", "N", "modules that the table shows (25)",
              take_number(options->run.max_modules, 1));
  declare_run_of_programs(line, options->run);
  line.check([options = options.get()] { return define(*options); });
  return [options](const Invocation& invocation) {
    return measure_and_report(options->run, invocation);
  };
}

}  // namespace instr
