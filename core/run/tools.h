// The tools of a run, found before anything is measured: LibTorch, the compiler, the cache, and the
// languages of snippets.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compile/cache.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/language_support.h"
#include "core/compile/libtorch.h"
#include "core/compile/toolchain.h"
#include "core/results/fingerprint.h"
#include "core/run/config.h"

namespace instr {

// Returns how many variants are measured at a time.
int jobs_of(const ToolConfig& config);

struct Tools {
  // `on_phase` and `on_message`: as in SessionEvents.
  static Expected<std::unique_ptr<Tools>> find(
      const MeasureConfig& config, std::stop_token stop = {}, BeginPhase on_phase = {},
      std::function<void(const std::string&)> on_message = {});

  Tools(Toolchain toolchain, LibTorch libtorch, Cache cache, const MeasureConfig& config);
  Tools(const Tools&) = delete;
  Tools& operator=(const Tools&) = delete;

  const LibTorch& libtorch() const { return compile.libtorch; }
  LanguageSupport& language(Language language) const {
    return *languages[static_cast<std::size_t>(language)];
  }
  // Has each language prepare for its variants. Returns cautions about their tools.
  std::vector<std::string> expect(const std::vector<Variant>& variants) const;

  // Returns, by key, a hash of the code of each variant (LanguageSupport::identify).
  Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                        std::stop_token stop) const;

  Cache cache;
  CompileOptions compile;
  Languages languages;
};

// Selects the Variants or CompiledVariants in this language.
template <class T>
std::vector<T> in_language(const std::vector<T>& all, Language language) {
  std::vector<T> selected;
  for (const T& item : all) {
    if constexpr (std::is_same_v<T, Variant>) {
      if (item.language == language) selected.push_back(item);
    } else {
      if (item.variant.language == language) selected.push_back(item);
    }
  }
  return selected;
}

// Makes the fingerprint of a run. `valgrind_version`: empty if nothing is counted. `worker`: fields
// of the workers' `hello` ("cpu_capability", "worker_hash", pinned settings, ...), "timed_..." of
// the native one; ignored where the tools have the same field.
Fingerprint make_fingerprint(const LibTorch& libtorch, const Toolchain& toolchain,
                             const std::string& valgrind_version,
                             const std::map<std::string, std::string>& worker);

// Makes the fingerprint of a run that counts only programs, which has no LibTorch and no worker.
Fingerprint make_program_fingerprint(const std::string& valgrind_version);

// Returns the models of this machine's NVIDIA GPUs, "NVIDIA H200", each once, as their driver lists
// them in `folder`; empty if it does not.
std::string gpu_models(const std::filesystem::path& folder = "/proc/driver/nvidia/gpus");

}  // namespace instr
