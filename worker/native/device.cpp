#include "worker/native/device.h"

#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <map>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
#include <c10/core/CachingDeviceAllocator.h>
#define INSTR_HAS_DEVICE_STATISTICS 1
#endif

namespace instr {

std::optional<std::string> unusable_reason(const std::string& device) {
  if (device == "cpu") return std::nullopt;
  if (device != "cuda") return "the device '" + device + "' is not known";
  if (torch::cuda::is_available()) return std::nullopt;
  return torch::cuda::device_count() == 0 ? "there is no CUDA device that LibTorch can use here"
                                          : "CUDA cannot be used here";
}

void seed(const std::string& device) {
  if (device == "cuda") torch::cuda::manual_seed_all(0);
}

void wait_for(const std::string& device) {
  if (device == "cuda") torch::cuda::synchronize();
}

#ifdef INSTR_HAS_DEVICE_STATISTICS
void reset_peak(const std::string& device) {
  if (device == "cuda") at::getDeviceAllocator(at::kCUDA)->resetPeakStats(0);
}

std::optional<std::uint64_t> peak_bytes(const std::string& device) {
  if (device != "cuda") return std::nullopt;
  auto statistics = at::getDeviceAllocator(at::kCUDA)->getDeviceStats(0);
  auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::uint64_t>(statistics.allocated_bytes[all].peak);
}
#else
void reset_peak(const std::string&) {}
std::optional<std::uint64_t> peak_bytes(const std::string&) { return std::nullopt; }
#endif

bool set_default_type(const std::string& name) {
  static const std::map<std::string, c10::ScalarType> kTypes{{"float32", c10::kFloat},
                                                             {"float64", c10::kDouble},
                                                             {"float16", c10::kHalf},
                                                             {"bfloat16", c10::kBFloat16}};
  const auto type = kTypes.find(name);
  if (type == kTypes.end()) return false;
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(type->second));
  return true;
}

bool switch_gradients(bool is_on) {
  const bool was_on = c10::GradMode::is_enabled();
  c10::GradMode::set_enabled(is_on);
  return was_on;
}

}  // namespace instr
