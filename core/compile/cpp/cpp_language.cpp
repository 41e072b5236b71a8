#include <algorithm>

#include "core/base/environment.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/cpp/tracked_artefacts.h"
#include "core/compile/language_support.h"
#include "core/compile/pinned_environment.h"

namespace instr {

namespace {

class CppLanguage : public LanguageSupport {
 public:
  CppLanguage(const CompileOptions& options, Cache& cache) : options_(options), cache_(cache) {}

  Expected<void> compile(const std::vector<Variant>& variants, Purpose purpose,
                         const OnUnit& on_unit, std::stop_token stop) override {
    if (variants.empty()) return {};
    TRY(check_compiler(options_.toolchain));
    CompileOptions options = options_;
    options.purpose = purpose;
    options.each_alone = options.each_alone && purpose == Purpose::kMeasure;
    return instr::compile(variants, options, cache_, on_unit, stop);
  }

  Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants) override {
    return instr::find_compiled(variants, options_, cache_);
  }

  Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                        std::stop_token stop) override {
    if (variants.empty() || !check_compiler(options_.toolchain)) {
      return std::map<std::string, std::string>{};
    }
    return instr::identify(variants, options_, cache_, stop);
  }

  std::map<std::string, std::string> list_includes(const CompiledVariant& compiled) const override {
    const auto& build = compiled.variant.build;
    return TrackedArtefacts(cache_, {})
        .list_files(compiled.unit.filename().string(),
                    build ? build->root : std::filesystem::path());
  }

  Expected<WorkerProgram> counting_worker(std::stop_token stop) override {
    CompileOptions options = options_;
    options.jobs = std::max(options.jobs - 1, 1);  // one remains for the precompiled header
    return build(WorkerKind::kCounting, options, pinned_environment(cpu_class()), stop);
  }

  Expected<WorkerProgram> native_worker(std::stop_token stop) override {
    return build(WorkerKind::kNative, options_, own_environment(), stop);
  }

 private:
  Expected<WorkerProgram> build(WorkerKind kind, const CompileOptions& options,
                                std::vector<std::string> environment, std::stop_token stop) {
    TRY_ASSIGN(auto worker, build_worker(kind, options.sources, options, cache_, stop));
    return WorkerProgram{
        worker, {"./" + worker.filename().string()}, std::move(environment), worker.parent_path()};
  }

  const CompileOptions& options_;
  Cache& cache_;
};

}  // namespace

std::unique_ptr<LanguageSupport> make_cpp_language(const CompileOptions& options, Cache& cache) {
  return std::make_unique<CppLanguage>(options, cache);
}

}  // namespace instr
