#include "core/run/dry_run.h"

#include <set>
#include <string>

#include "core/run/capabilities.h"
#include "core/run/tools.h"

namespace instr {

Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants) {
  TRY_ASSIGN(auto tools, Tools::find(config));
  tools->expect(variants);
  std::set<std::string> cached;
  for (const LanguageFacts& known : kLanguages) {
    TRY_ASSIGN(
        auto keys,
        tools->language(known.language).find_compiled(in_language(variants, known.language)));
    cached.merge(keys);
  }
  const Capabilities capabilities{tools->libtorch(), config.wants_times};
  std::vector<PlannedVariant> planned;
  for (const Variant& variant : variants) {
    auto obstacle = find_obstacle(variant, capabilities, tools->language(variant.language));
    const bool is_unknown = variant.build && !variant.build->sources.empty();
    const auto step = obstacle                       ? PlannedStep::kSkip
                      : cached.contains(variant.key) ? PlannedStep::kCached
                      : is_unknown                   ? PlannedStep::kUnknown
                                                     : PlannedStep::kCompile;
    planned.push_back({variant, step, obstacle.value_or("")});
  }
  return planned;
}

}  // namespace instr
