// AOTInductor packages of what snippets in Python compute: made in the selected interpreter, kept
// in the cache, and run by C++ and Python.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/tracked_artefacts.h"
#include "core/compile/language_support.h"
#include "core/compile/python/python.h"

namespace instr {

// The variable that a native worker has, so that code runs the package for this processor instead
// of the one that is counted.
inline constexpr const char* kNativePackages = "INSTR_NATIVE_PACKAGES=1";

class Packages {
 public:
  // `options` and `cache` must outlive this object.
  Packages(const CompileOptions& options, Cache& cache)
      : options_(options), cache_(cache), artefacts_(cache, {}) {}

  // Finds the interpreter if one of the variants needs a package (Variant::exported). This or use()
  // is to be called before the other functions.
  void expect(const std::vector<Variant>& variants);

  // Uses an interpreter that has been found.
  void use(const Expected<Python>& python) { python_ = python; }

  // Returns the reason why the package of a variant cannot be made here; nothing if it can or if
  // the variant needs none.
  std::optional<std::string> find_obstacle(const Variant& variant) const;

  // Calls `compile` with the variants that need no package, then makes the packages and calls it
  // with the others. `on_unit` gets the failures.
  using Compile = std::function<Expected<void>(const std::vector<Variant>&)>;
  Expected<void> compile(const std::vector<Variant>& variants, const Compile& compile,
                         const LanguageSupport::OnUnit& on_unit, std::stop_token stop);

  // Returns the variants with the names of their packages, without those whose packages are not in
  // the cache.
  std::vector<Variant> find(const std::vector<Variant>& variants) const;

  // Returns the variants with a hash of what determines their packages in place of names.
  std::vector<Variant> identify(std::vector<Variant> variants) const;

  // Returns the files that the package of a variant was made of, with their hashes.
  std::map<std::string, std::string> list_files(const Variant& variant) const;

 private:
  // The processor that a package is compiled for.
  enum class Target { kCounted, kNative };

  bool can_make() const { return python_ && *python_; }
  std::vector<Target> targets() const;
  std::string identity_of(const Variant& exported, Target target) const;
  std::string hint_of(const Variant& exported, Target target) const;
  Expected<std::filesystem::path> make(const Variant& exported, Target target,
                                       std::stop_token stop);
  Expected<void> make_all(Variant& variant, std::stop_token stop);
  std::vector<std::string> environment_for(Target target) const;
  Expected<void> run_exporter(const Variant& exported, Target target,
                              const std::filesystem::path& package,
                              const std::filesystem::path& list, std::stop_token stop) const;

  const CompileOptions& options_;
  Cache& cache_;
  TrackedArtefacts artefacts_;
  std::optional<Expected<Python>> python_;  // set once a variant needs a package
};

}  // namespace instr
