#include <map>
#include <set>

#include "core/base/content_hash.h"
#include "core/base/process.h"
#include "core/compile/language_support.h"

namespace instr {

namespace {

// Programs are run as they are.
class ProgramLanguage : public LanguageSupport {
 public:
  Expected<void> compile(const std::vector<Variant>& variants, Purpose purpose,
                         const OnUnit& on_unit, std::stop_token stop) override {
    UnitResult unit;
    for (const Variant& variant : variants) unit.compiled.push_back({variant, kUnit, ""});
    if (purpose == Purpose::kMeasure && !stop.stop_requested()) on_unit(std::move(unit));
    return {};
  }

  Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants) override {
    std::set<std::string> keys;
    for (const Variant& variant : variants) keys.insert(variant.key);
    return keys;
  }

  // Leaves out what a program loads, which is known once it has run (Counted::files).
  Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                        std::stop_token) override {
    std::map<std::string, std::string> hashes;
    for (const Variant& variant : variants) {
      const Program& program = *variant.program;
      std::string text = program.benchmark;
      for (const std::string& word : program.command) text += word + "\n";
      for (const auto& [name, value] : program.environment) text += name + "=" + value + "\n";
      const bool is_program = program.kind != ProgramKind::kImport;
      if (const auto file = find_program(program.command.front())) {
        if (is_program) text += file_hash(program.folder / *file).value_or("");
      }
      if (program.standard_input) text += file_hash(*program.standard_input).value_or("");
      hashes[variant.key] = content_hash(text);
    }
    return hashes;
  }

  Expected<WorkerProgram> counting_worker(std::stop_token) override { return no_worker(); }
  Expected<WorkerProgram> native_worker(std::stop_token) override { return no_worker(); }

 private:
  // Not a file: the programs of a run are one group of the scheduler.
  static constexpr const char* kUnit = "programs";

  static tl::unexpected<Error> no_worker() { return fail("programs are not run by a worker"); }
};

}  // namespace

std::unique_ptr<LanguageSupport> make_program_language() {
  return std::make_unique<ProgramLanguage>();
}

}  // namespace instr
