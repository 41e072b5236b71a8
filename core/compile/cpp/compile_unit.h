// Compiles and links a unit: the precompiled header, the user's own sources, command lines.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/cpp/diagnostics.h"
#include "core/compile/cpp/tracked_artefacts.h"

namespace instr {

// Prerequisites of compiling units with a set of build options.
struct BuildContext {
  std::shared_ptr<const BuildOptions> build;  // may be null
  // The inputs' identity for a unit's object, except the variants, and for linking it. The first is
  // the same in each working tree of a repository, whatever the user's sources contain.
  std::string hash;
  std::string link_hash;
  std::filesystem::path root;      // the root of ArtefactInputs
  std::vector<std::string> flags;  // the compiler's flags
  std::string root_flag = {};      // one of them: the user's root (root_flag())
  std::vector<std::string> link_flags;
  std::vector<std::string> source_flags = {};  // the compiler's flags for the user's sources
  std::string source_identity = {};            // the inputs' identity for them, as for `hash`
  LinkedCode linked;
  std::optional<std::string> failure = {};  // the compiler's errors: all variants fail
};

class UnitCompiler {
 public:
  // Reads the header that all units share. `options` and `cache` must outlive this object.
  static Expected<UnitCompiler> make(const CompileOptions& options, Cache& cache,
                                     std::stop_token stop);

  // Prepares build options (null: none); compiles their sources if the cache lacks them.
  Expected<BuildContext> prepare(const std::shared_ptr<const BuildOptions>& build);

  // Returns the cached object that contains a variant's code, if it is up to date. `symbol`: of its
  // function.
  std::optional<std::filesystem::path> find(const BuildContext& context, const std::string& symbol,
                                            const Variant& variant) const;

  // Makes the precompiled header if that pays off for `units` new units. The compiler's errors go
  // to the context's `failure`.
  Expected<void> prepare_header(BuildContext& context, std::size_t units);

  // Links an object of find() to a unit, unless the cache has it. An error if it does not link.
  Expected<std::filesystem::path> link(const BuildContext& context,
                                       const std::filesystem::path& object);

  struct Unit {
    std::optional<std::filesystem::path> file;
    std::string errors = {};  // the compiler's errors, if there is no file
    // Instead of both: symbols of variants that cannot share a unit with the others.
    std::set<std::string> apart = {};
  };

  // Compiles these variants to one shared object, and leaves a hint for each. Safe to call from
  // several threads. An error if no compiler could be run, or `stop` was requested.
  Expected<Unit> compile(const BuildContext& context, std::span<const Variant> variants);

 private:
  UnitCompiler(const CompileOptions& options, Cache& cache, std::stop_token stop);

  std::vector<std::string> common_flags() const;
  std::string add_build(const BuildOptions& build, BuildContext& context) const;
  // Returns the name of the cache's hint for a variant's code.
  std::string hint_name(const BuildContext& context, const std::string& symbol,
                        const Variant& variant) const;
  // Identifies the inputs of a snippet's code besides its context.
  std::string identify(const std::string& symbol, const Variant& variant) const;
  Expected<void> compile_to(const std::filesystem::path& object, const std::filesystem::path& list,
                            const BuildContext& context, std::span<const Variant> variants,
                            std::optional<std::string>& errors);
  // Preprocesses the texts to find variants that cannot share a unit with others.
  Expected<std::set<std::string>> find_reaching(const std::filesystem::path& folder,
                                                const BuildContext& context,
                                                std::span<const Variant> variants);
  // Compile the user's own sources to one library, all of them to objects, one of them.
  Expected<void> make_user_library(BuildContext& context);
  Expected<std::vector<std::filesystem::path>> compile_user_sources(BuildContext& context);
  Expected<std::filesystem::path> compile_user_source(const std::filesystem::path& source,
                                                      const BuildContext& context,
                                                      std::optional<std::string>& errors);
  Expected<std::filesystem::path> link(const BuildContext& context,
                                       const std::filesystem::path& object,
                                       std::optional<std::string>& errors);
  Expected<void> run_compiler(const std::vector<std::string>& arguments,
                              std::optional<std::string>& errors);
  std::string header_name(const BuildContext& context) const;
  Expected<std::filesystem::path> plain_header();
  std::vector<std::string> header_arguments(const BuildContext& context);

  const CompileOptions& options_;
  Cache& cache_;
  TrackedArtefacts tracked_;
  std::stop_token stop_;
  std::string header_text_;
  std::string identity_;  // the identity of compiler, LibTorch, and the shared header
};

}  // namespace instr
