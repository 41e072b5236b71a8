#include "core/run/tools.h"

#include "core/base/environment.h"
#include "core/compile/installation.h"

namespace instr {

Expected<std::unique_ptr<Tools>> Tools::find(const MeasureConfig& config, std::stop_token stop,
                                             BeginPhase on_phase,
                                             std::function<void(const std::string&)> on_message) {
  TRY_ASSIGN(auto libtorch, find_libtorch(config.tools.libtorch));
  TRY_ASSIGN(auto toolchain, find_toolchain(config.tools.compiler, libtorch));
  TRY_ASSIGN(auto cache, Cache::open(!config.tools.no_cache, {std::move(stop), on_message}));
  if (cache.caution() && on_message) on_message(*cache.caution());
  auto tools =
      std::make_unique<Tools>(std::move(toolchain), std::move(libtorch), std::move(cache), config);
  tools->compile.on_phase = std::move(on_phase);
  return tools;
}

int jobs_of(const ToolConfig& config) {
  return config.jobs > 0 ? config.jobs : static_cast<int>(std::ssize(usable_cores()));
}

Tools::Tools(Toolchain toolchain, LibTorch libtorch, Cache opened, const MeasureConfig& config)
    : cache(std::move(opened)),
      compile{.toolchain = std::move(toolchain),
              .libtorch = std::move(libtorch),
              .jobs = jobs_of(config.tools),
              .sources = find_installation().sources,
              .each_alone = config.simulation.any(),
              .line_numbers = config.wants_lines},
      languages(make_languages(config.tools.python, compile, cache)) {}

std::vector<std::string> Tools::expect(const std::vector<Variant>& variants) const {
  std::vector<std::string> cautions;
  for (const LanguageFacts& known : kLanguages) {
    auto caution = language(known.language).expect(in_language(variants, known.language));
    if (caution) cautions.push_back(std::move(*caution));
  }
  return cautions;
}

Expected<std::map<std::string, std::string>> Tools::identify(const std::vector<Variant>& variants,
                                                             std::stop_token stop) const {
  std::map<std::string, std::string> all;
  for (const LanguageFacts& known : kLanguages) {
    TRY_ASSIGN(auto hashes,
               language(known.language).identify(in_language(variants, known.language), stop));
    all.merge(hashes);
  }
  return all;
}

}  // namespace instr
