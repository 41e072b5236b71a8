#include "core/run/capabilities.h"

#include <fmt/format.h>

#include "core/definitions/axes.h"
#include "core/definitions/requirement.h"

namespace instr {

namespace {

std::optional<std::string> find_version_obstacle(const Variant& variant, const LibTorch& libtorch) {
  if (variant.libtorch) {
    const auto is_met = satisfies(libtorch.version, *variant.libtorch);
    if (!is_met) return to_string(is_met.error());
    if (!*is_met) return "needs LibTorch " + *variant.libtorch + ", this is " + libtorch.version;
  }
  const BackendFacts& backend = facts_of(variant.backend);
  if (backend.libtorch == nullptr || satisfies(libtorch.version, backend.libtorch).value_or(true)) {
    return std::nullopt;
  }
  return fmt::format("the backend {} needs LibTorch {}, this is {}", backend.name, backend.libtorch,
                     libtorch.version);
}

std::optional<std::string> find_device_obstacle(const Variant& variant,
                                                const Capabilities& capabilities) {
  if (is_countable(variant)) return std::nullopt;
  const BackendFacts& backend = facts_of(variant.backend);
  const LibTorch& libtorch = capabilities.libtorch;
  if (variant.device != "cuda") {
    if (capabilities.wants_times) return std::nullopt;
    if (variant.is_only_timed) return "too large to be counted: --metrics=wall times it";
    return fmt::format("the backend {} is not counted: --metrics=wall times it", backend.name);
  }
  if (!libtorch.has_cuda) return "this LibTorch is built without CUDA";
  if (backend.cuda_header != nullptr && !libtorch.cuda_headers) {
    return fmt::format(
        "the backend {} needs the headers of CUDA's toolkit: name its folder by CUDA_HOME",
        backend.name);
  }
  if (!capabilities.wants_times) {
    return "instructions are counted on the CPU only: --metrics=wall times it";
  }
  return std::nullopt;
}

}  // namespace

bool is_countable(const Variant& variant) {
  return !variant.is_only_timed && variant.device != "cuda" &&
         facts_of(variant.backend).packages == nullptr;
}

std::optional<std::string> find_obstacle(const Variant& variant, const Capabilities& capabilities,
                                         const LanguageSupport& language) {
  if (auto obstacle = find_version_obstacle(variant, capabilities.libtorch)) return obstacle;
  if (auto obstacle = language.find_obstacle(variant)) return obstacle;
  const BackendFacts& backend = facts_of(variant.backend);
  const bool is_prepared = backend.body == Body::kPackage || backend.body == Body::kCapturedScript;
  if (is_prepared && is_autocast(variant)) {
    return fmt::format("the backend {} runs code that was prepared without autocast", backend.name);
  }
  return find_device_obstacle(variant, capabilities);
}

}  // namespace instr
