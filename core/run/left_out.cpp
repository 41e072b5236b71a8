#include "core/run/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/compile/installation.h"
#include "core/compile/libtorch.h"
#include "core/compile/python/python.h"
#include "core/compile/toolchain.h"
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
  if (variant.program) return std::nullopt;
  const LibTorch& libtorch = capabilities.libtorch;
  if (is_countable(variant, libtorch.stand_in)) return std::nullopt;
  const BackendFacts& backend = facts_of(variant.backend);
  if (variant.device != "cuda") {
    if (capabilities.wants_times) return std::nullopt;
    if (variant.is_only_timed) return "too large to be counted: --metrics=wall times it";
    return fmt::format("the backend {} is not counted: --metrics=wall times it", backend.name);
  }
  if (!libtorch.has_cuda) return "this LibTorch is built without CUDA";
  if (libtorch.stand_in) {
    return fmt::format("the backend {} is not counted on CUDA's host side", backend.name);
  }
  if (backend.cuda_header != nullptr && !libtorch.cuda_headers) {
    return fmt::format(
        "the backend {} needs the headers of CUDA's toolkit: name its folder by CUDA_HOME",
        backend.name);
  }
  if (!capabilities.wants_times) {
    return "instructions are counted on the CPU only: --host-only counts CUDA's host side, "
           "--metrics=wall times it";
  }
  return std::nullopt;
}

bool is_skipped(const Variant& variant, const SkippedTest& skipped) {
  const char* test = is_differentiated(variant) ? "train" : "eval";
  return (skipped.test.empty() || skipped.test == test) &&
         (skipped.device.empty() || skipped.device == variant.device);
}

}  // namespace

bool is_countable(const Variant& variant, const std::optional<std::string>& stand_in) {
  const BackendFacts& backend = facts_of(variant.backend);
  const bool has_device = !is_on_cuda(variant) || (stand_in && backend.cuda_header == nullptr);
  return has_device && !variant.is_only_timed && backend.packages == nullptr && !backend.is_chooser;
}

std::optional<std::string> find_obstacle(const Variant& variant, const Capabilities& capabilities,
                                         const LanguageSupport& language) {
  for (const SkippedTest& skipped : variant.skipped_tests) {
    if (is_skipped(variant, skipped)) return skipped.reason;
  }
  if (auto obstacle = find_version_obstacle(variant, capabilities.libtorch)) return obstacle;
  if (auto obstacle = language.find_obstacle(variant)) return obstacle;
  const BackendFacts& backend = facts_of(variant.backend);
  const bool is_prepared = backend.body == Body::kPackage || backend.body == Body::kCapturedScript;
  if (is_prepared && is_autocast(variant)) {
    return fmt::format("the backend {} runs code that was prepared without autocast", backend.name);
  }
  return find_device_obstacle(variant, capabilities);
}

namespace {

constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";

bool is_registered(const Variant& variant) {
  return !is_in_table(variant.backend) && facts_of(variant.backend).function == nullptr;
}

std::vector<std::string> names_in(const std::map<std::string, std::string>& group) {
  std::vector<std::string> names;
  for (const auto& [name, text] : group) names.push_back(name);
  return names;
}

// Refuses the name of a backend that torch.compile() does not know. That of a module that has to be
// imported first is not known here.
Expected<void> check_backend(const Variant& variant, const TorchNames& known) {
  const BackendFacts& backend = facts_of(variant.backend);
  if (!is_registered(variant) || backend.module != nullptr) return {};
  const auto& registered = known.at("backends");
  if (registered.contains(backend.name)) return {};
  std::vector<std::string> names = names_in(registered);
  for (const BackendFacts& each : kBackends) names.emplace_back(each.name);
  return fail(fmt::format("torch.compile() has no backend `{}`", backend.name),
              did_you_mean(backend.name, names));
}

// Refuses names that torch's configurations do not have.
Expected<void> check_setting(const Setting& setting, const TorchNames& known) {
  for (const ConfigValue& value : setting.config) {
    const auto& names = known.at(value.group);
    if (names.contains(value.name)) continue;
    return fail_at(value.where,
                   fmt::format("torch._{}.config has no `{}`", value.group, value.name),
                   did_you_mean(value.name, names_in(names)));
  }
  return {};
}

// Refuses names that this torch does not know, before anything is measured.
Expected<void> check_names(const std::vector<Variant>& variants, const ToolConfig& tools) {
  const auto needs_names = [](const Variant& variant) {
    return is_registered(variant) || (variant.setting && !variant.setting->config.empty());
  };
  if (std::ranges::none_of(variants, needs_names)) return {};
  TRY_ASSIGN(const auto libtorch, find_libtorch(tools.libtorch));
  const fs::path sources = find_installation().sources;
  TRY_ASSIGN(const auto python, find_python(tools.python, libtorch, sources));
  TRY_ASSIGN(auto cache, Cache::open(!tools.no_cache));
  TRY_ASSIGN(const auto known, list_torch_names(python, sources, cache));
  for (const Variant& variant : variants) {
    TRY(check_backend(variant, known));
    if (variant.setting) TRY(check_setting(*variant.setting, known));
  }
  return {};
}

bool is_in_cpp(const Variant& variant) { return variant.language == Language::kCpp; }

// Returns true for the device file of a GPU: of a card, of WSL, or of a Jetson.
bool is_gpu(const std::string& name) {
  if (name == "dxg" || name == "nvgpu" || name == "nvhost-gpu") return true;
  constexpr std::string_view kCard = "nvidia";
  return name.starts_with(kCard) && name.size() > kCard.size() &&
         name.find_first_not_of("0123456789", kCard.size()) == std::string::npos;
}

}  // namespace

Expected<std::optional<Error>> find_cuda_obstacle(const CudaTraces& traces,
                                                  const ToolConfig& tools) {
  constexpr const char* kElse = "or choose variants on the CPU";
  if (!tools.host_only && has_no_cuda_device(traces)) {
    return Error{{},
                 "no CUDA device",
                 fmt::format("use a machine with one, which {} does not hide, count its host "
                             "side by --host-only, {}",
                             kVisibleDevices, kElse)};
  }
  TRY_ASSIGN(const auto libtorch, find_libtorch(tools.libtorch));
  if (libtorch.has_cuda) return std::nullopt;
  return Error{{},
               "this LibTorch is built without CUDA",
               fmt::format("name one with CUDA by --libtorch, {}", kElse)};
}

CudaTraces read_cuda_traces() {
  CudaTraces traces;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/dev", ignored)) {
    traces.device_files.push_back(entry.path().filename().string());
  }
  traces.can_create_files = fs::exists("/usr/bin/nvidia-modprobe", ignored);
  if (const char* visible = std::getenv(kVisibleDevices)) traces.visible_devices = visible;
  return traces;
}

bool has_no_cuda_device(const CudaTraces& traces) {
  if (traces.visible_devices == "" || traces.visible_devices == "-1") return true;
  return !traces.can_create_files && std::ranges::none_of(traces.device_files, is_gpu);
}

Expected<RunnableVariants> leave_out(std::vector<Variant> variants,
                                     const std::vector<Obstacle>& obstacles, bool is_shard) {
  RunnableVariants split{std::move(variants)};
  for (const auto& [concerns, reason, is_expected] : obstacles) {
    const auto first =
        std::stable_partition(split.runnable.begin(), split.runnable.end(), std::not_fn(concerns));
    const auto count = static_cast<std::size_t>(std::distance(first, split.runnable.end()));
    if (count == 0) continue;
    const std::string note =
        fmt::format("{}: {} left out", reason.what, format_plural(count, "variant"));
    if (first == split.runnable.begin() && !is_shard) {
      return fail(note + ", and no other is selected", reason.advice);
    }
    if (!is_expected) split.note += note + "\n";
    std::move(first, split.runnable.end(), std::back_inserter(split.left_out));
    split.runnable.erase(first, split.runnable.end());
    split.reasons.resize(split.left_out.size(), reason);
  }
  return split;
}

Expected<RunnableVariants> leave_out_unusable(std::vector<Variant> variants, const PlanConfig& plan,
                                              const ToolConfig& tools) {
  TRY(check_names(variants, tools));
  std::vector<Obstacle> obstacles;
  if (std::ranges::any_of(variants, is_on_cuda)) {
    TRY_ASSIGN(const auto reason, find_cuda_obstacle(read_cuda_traces(), tools));
    const bool is_expected = plan.definitions.empty() && plan.selection.devices.empty();
    if (reason) obstacles.push_back({is_on_cuda, *reason, is_expected});
  }
  if (!tools.compiler && std::ranges::any_of(variants, is_in_cpp)) {
    TRY_ASSIGN(const bool has_one, has_compiler());
    if (!has_one) {
      obstacles.push_back({is_in_cpp,
                           {{},
                            fmt::format("{} ({})", kNoCompiler, kInstallCompiler),
                            "or choose variants in Python: --language=py"}});
    }
  }
  return leave_out(std::move(variants), obstacles, plan.selection.shard.has_value());
}

std::function<bool(const std::string&)> make_run_selector(const Selection& selection,
                                                          const std::vector<Variant>& left_out) {
  std::set<std::string> keys;
  for (const Variant& variant : left_out) keys.insert(variant.key);
  return [selected = make_key_selector(selection), keys = std::move(keys)](const std::string& key) {
    return selected(key) && !keys.contains(key);
  };
}

}  // namespace instr
