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
#include "core/compile/libtorch.h"

namespace instr {

namespace {

constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";

bool is_on_cuda(const Variant& variant) { return variant.device == "cuda"; }

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
  if (has_no_cuda_device(traces)) {
    return Error{
        {},
        "no CUDA device",
        fmt::format("use a machine with one, which {} does not hide, {}", kVisibleDevices, kElse)};
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

std::string RunnableVariants::note() const {
  if (left_out.empty()) return "";
  return fmt::format("{}: {} left out\n", obstacle.what, format_plural(left_out.size(), "variant"));
}

Expected<RunnableVariants> leave_out_cuda(std::vector<Variant> variants,
                                          const std::optional<Error>& obstacle, bool is_shard) {
  RunnableVariants split{std::move(variants)};
  if (!obstacle) return split;
  const auto first =
      std::stable_partition(split.runnable.begin(), split.runnable.end(), std::not_fn(is_on_cuda));
  split.left_out.assign(std::make_move_iterator(first),
                        std::make_move_iterator(split.runnable.end()));
  split.runnable.erase(first, split.runnable.end());
  split.obstacle = *obstacle;
  if (!split.runnable.empty() || split.left_out.empty() || is_shard) return split;
  return fail(fmt::format("{}: {} left out, and no other is selected", obstacle->what,
                          format_plural(split.left_out.size(), "variant")),
              obstacle->advice);
}

Expected<RunnableVariants> leave_out_unusable(std::vector<Variant> variants,
                                              const ToolConfig& tools, bool is_shard) {
  if (std::ranges::none_of(variants, is_on_cuda)) return RunnableVariants{std::move(variants)};
  TRY_ASSIGN(const auto obstacle, find_cuda_obstacle(read_cuda_traces(), tools));
  return leave_out_cuda(std::move(variants), obstacle, is_shard);
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
