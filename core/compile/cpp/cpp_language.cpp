#include "core/compile/cpp/cpp_language.h"

#include <algorithm>

#include "core/compile/cpp/compile_cpp.h"

namespace instr {

namespace {

class CppLanguage : public LanguageSupport {
 public:
  CppLanguage(const CompileOptions& options, Cache& cache) : options_(options), cache_(cache) {}

  Expected<void> compile(const std::vector<Variant>& variants, Purpose purpose,
                         const OnUnit& on_unit, std::stop_token stop) override {
    CompileOptions options = options_;
    options.purpose = purpose;
    options.each_alone = options.each_alone && purpose == Purpose::kMeasure;
    return instr::compile(variants, options, cache_, on_unit, stop);
  }

  Expected<std::set<std::string>> find_compiled(const std::vector<Variant>& variants) override {
    return instr::find_compiled(variants, options_, cache_);
  }

  Expected<std::filesystem::path> counting_worker(std::stop_token stop) override {
    CompileOptions options = options_;
    options.jobs = std::max(options.jobs - 1, 1);  // one remains for the precompiled header
    return build(WorkerKind::kCounting, options, stop);
  }

  Expected<std::filesystem::path> native_worker(std::stop_token stop) override {
    return build(WorkerKind::kNative, options_, stop);
  }

 private:
  Expected<std::filesystem::path> build(WorkerKind kind, const CompileOptions& options,
                                        std::stop_token stop) {
    return build_worker(kind, options.sources, options, cache_, stop);
  }

  const CompileOptions& options_;
  Cache& cache_;
};

}  // namespace

std::unique_ptr<LanguageSupport> make_cpp_language(const CompileOptions& options, Cache& cache) {
  return std::make_unique<CppLanguage>(options, cache);
}

}  // namespace instr
