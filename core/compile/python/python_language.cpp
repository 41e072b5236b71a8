#include <fmt/format.h>

#include <algorithm>

#include "core/base/content_hash.h"
#include "core/compile/language_support.h"
#include "core/compile/python/compile_python.h"
#include "core/compile/python/generate_python.h"
#include "core/compile/python/python.h"
#include "core/definitions/requirement.h"

namespace instr {

namespace {

// Returns imports of a variant that take seconds, which a native worker does before it forks:
// modules, and "compiler" for those of torch.compile(). The module of a package usually has the
// package's name.
std::set<std::string> find_imports(const Variant& variant) {
  std::set<std::string> imports;
  if (is_compiled(variant.backend)) imports.insert(to_string(WarmUp::kCompiler));
  for (const std::string& text : variant.packages) {
    std::string module = parse_package(text).value_or(PackageRequirement{}).name;
    std::replace(module.begin(), module.end(), '-', '_');
    if (!module.empty()) imports.insert(module);
  }
  return imports;
}

UnitResult fail_all(const std::vector<Variant>& variants, const Error& error) {
  UnitResult result;
  for (const Variant& variant : variants) {
    result.failed.push_back(make_compile_failure(variant, to_string(error)));
  }
  return result;
}

class PythonLanguage : public LanguageSupport {
 public:
  PythonLanguage(const std::optional<std::string>& command, const CompileOptions& options,
                 Cache& cache)
      : command_(command), options_(options), cache_(cache) {}

  std::optional<std::string> expect(const std::vector<Variant>& variants) override {
    for (const Variant& variant : variants) imports_.merge(find_imports(variant));
    if (python_ || variants.empty()) return std::nullopt;
    python_ = find_python(command_, options_.libtorch, options_.sources);
    return *python_ ? find_caution(**python_) : std::nullopt;
  }

  std::optional<std::string> find_obstacle(const Variant& variant) const override {
    if (!*python_) return to_string(python_->error());
    if (auto lacking = find_lacking_package(**python_, packages_of(variant.backend))) {
      return fmt::format("the backend {} {}", to_string(variant.backend), *lacking);
    }
    return find_lacking_package(**python_, variant.packages);
  }

  // Compiles all as one unit: the interpreter compiles them faster than it starts.
  Expected<void> compile(const std::vector<Variant>& variants, Purpose purpose,
                         const OnUnit& on_unit, std::stop_token stop) override {
    auto unit = compile_python(variants, **python_, options_.sources, cache_, purpose, stop);
    if (stop.stop_requested()) return {};
    if (!unit && purpose == Purpose::kVerify) return fail(unit.error());
    on_unit(unit ? *std::move(unit) : fail_all(variants, unit.error()));
    return {};
  }

  Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                        std::stop_token) override {
    std::map<std::string, std::string> hashes;
    for (const Variant& variant : variants) {
      hashes[variant.key] =
          content_hash(list_symbols(variant, [](const Variant& each, Purpose purpose) {
            return make_python_symbol(make_python_snippet(each, purpose));
          }));
    }
    return hashes;
  }

  Expected<WorkerProgram> counting_worker(std::stop_token stop) override {
    return build(WorkerKind::kPython, stop);
  }

  Expected<WorkerProgram> native_worker(std::stop_token stop) override {
    return build(WorkerKind::kNativePython, stop);
  }

  std::map<std::string, std::string> describe() const override {
    if (!python_ || !*python_) return {};
    std::map<std::string, std::string> facts{{"python", (*python_)->build}};
    if (const auto prebuilt = find_prebuilt_worker(options_.sources)) {
      facts.emplace("python_worker", "prebuilt " + file_hash(*prebuilt).value_or(""));
    }
    return facts;
  }

 private:
  Expected<WorkerProgram> build(WorkerKind kind, std::stop_token stop) {
    TRY(*python_);
    return build_python_worker(kind, **python_, imports_, options_, cache_, stop);
  }

  const std::optional<std::string> command_;
  const CompileOptions& options_;
  Cache& cache_;
  std::optional<Expected<Python>> python_;  // set once there is a variant in Python
  std::set<std::string> imports_;
};

}  // namespace

std::unique_ptr<LanguageSupport> make_python_language(const std::optional<std::string>& command,
                                                      const CompileOptions& options, Cache& cache) {
  return std::make_unique<PythonLanguage>(command, options, cache);
}

}  // namespace instr
