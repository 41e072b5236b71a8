// Compiles the snippets of a language, and builds the programs that run them: one implementation
// for each language, in cpp/ and python/. Pins the environment of every counting worker: a count
// must not depend on the caller's environment.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/definitions/backends.h"

namespace instr {

// Functions take variants in this language only.
class LanguageSupport {
 public:
  using OnUnit = std::function<void(UnitResult)>;

  virtual ~LanguageSupport() = default;

  // Finds the tools of the language for these variants, which are about to be measured. Must be
  // called before all others, and again for further variants. Returns a caution about the tools
  // found, once.
  virtual std::optional<std::string> expect(const std::vector<Variant>&) { return std::nullopt; }

  // Returns the reason why a variant cannot run here; nothing if it can.
  virtual std::optional<std::string> find_obstacle(const Variant&) const { return std::nullopt; }

  // Compiles the variants that are not cached, and calls `on_unit` (from any thread, one call at a
  // time) as each unit is ready. Returns when all are done or `stop` was requested; an error if
  // nothing can be compiled at all.
  virtual Expected<void> compile(const std::vector<Variant>& variants, Purpose purpose,
                                 const OnUnit& on_unit, std::stop_token stop) = 0;
  // Compiles like compile(), and returns all results at once.
  Expected<CompiledVariants> compile_all(const std::vector<Variant>& variants, Purpose purpose,
                                         std::stop_token stop);

  // Returns the keys of the variants whose code is in the cache. Compiles nothing.
  virtual Expected<std::set<std::string>> find_compiled(const std::vector<Variant>&) {
    return std::set<std::string>{};
  }

  // Returns, by key, a hash of the code that determines a variant's results: its own, that of the
  // user's sources and headers, and that of eager, which it is verified against and timed beside.
  // Builds the user's own sources. Leaves out variants whose code cannot be known here.
  virtual Expected<std::map<std::string, std::string>> identify(
      const std::vector<Variant>& variants, std::stop_token stop) = 0;

  // Returns the files that a compiled variant includes, with their hashes, which identify() does
  // not cover: only the compiler knows them.
  virtual std::map<std::string, std::string> list_includes(const CompiledVariant&) const {
    return {};
  }

  // Returns the worker that counts under Callgrind, and the one that runs without it: built on
  // first use, and cached.
  virtual Expected<WorkerProgram> counting_worker(std::stop_token stop) = 0;
  virtual Expected<WorkerProgram> native_worker(std::stop_token stop) = 0;

  // Returns fields of the fingerprint that workers do not know.
  virtual std::map<std::string, std::string> describe() const { return {}; }
};

// Returns the symbols of a variant's code and, unless it is eager itself, of its eager's code.
std::string list_symbols(
    const Variant& variant,
    const std::function<std::string(const Variant& variant, Purpose purpose)>& symbol_of);

using Languages = std::array<std::unique_ptr<LanguageSupport>, kLanguages.size()>;

// Make the implementation of a language. `options` and `cache` must outlive it. `python`: the
// interpreter that the user named (--python); nothing: the default (find_python).
std::unique_ptr<LanguageSupport> make_cpp_language(const CompileOptions& options, Cache& cache);
std::unique_ptr<LanguageSupport> make_python_language(const std::optional<std::string>& python,
                                                      const CompileOptions& options, Cache& cache);

std::unique_ptr<LanguageSupport> make_program_language();

// Makes an implementation for each language, in the order of kLanguages.
Languages make_languages(const std::optional<std::string>& python, const CompileOptions& options,
                         Cache& cache);

// The code paths of LibTorch and its math libraries that are counted: those for AVX2 on processors
// that have it, even if they have more; on others the plain code.
enum class CpuClass { kAvx2, kPlain };

CpuClass cpu_class();  // this machine's class

// Returns "NAME=value", in a fixed order. Part of the fingerprint: a change here may change counts.
std::vector<std::string> pinned_environment(CpuClass cpu);

// The variable that has Inductor compile for a processor that Valgrind knows; and the one that
// keeps it from compiling and starting a program to see if its instructions work here.
std::string pinned_march(CpuClass cpu);
inline constexpr const char* kAssumeVectorInstructions = "TORCHINDUCTOR_VEC_ISA_OK=1";

}  // namespace instr
