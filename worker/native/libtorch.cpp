#include "worker/native/libtorch.h"

#include <ATen/autocast_mode.h>
#include <c10/core/Allocator.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <torch/cuda.h>
#include <torch/script.h>
#include <torch/version.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

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

namespace {

namespace jit = torch::jit;

#if TORCH_VERSION_MAJOR >= 2
using TotalBytes = std::size_t;
#else
using TotalBytes = std::int64_t;
#endif

namespace observation = torch::profiler::impl;

// LibTorch reports memory to a profiler's state. It has to be a complete one: functions made by
// torch.compile() read its configuration.
class TensorMemory : public observation::ProfilerStateBase {
 public:
  TensorMemory()
      : ProfilerStateBase(observation::ProfilerConfig(observation::ProfilerState::Disabled)) {}
  bool memoryProfilingEnabled() const override { return true; }
  observation::ActiveProfilerType profilerType() override {
    return observation::ActiveProfilerType::NONE;
  }
  void reportMemoryUsage(void*, std::int64_t size, TotalBytes, TotalBytes,
                         c10::Device device) override {
    if (!device.is_cpu()) return;
    std::lock_guard lock(turn_);
    live_ += size;
    peak_ = std::max(peak_, live_);
  }
  std::uint64_t peak() const { return static_cast<std::uint64_t>(peak_); }

 private:
  std::mutex turn_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
};

// Newer LibTorches report nanoseconds, older ones microseconds.
template <class Event>
auto start_of(const Event& event, int) -> decltype(event.startNs()) {
  return event.startNs();
}
template <class Event>
std::uint64_t start_of(const Event& event, long) {
  return event.startUs() * 1000;
}
template <class Event>
auto duration_of(const Event& event, int) -> decltype(event.durationNs()) {
  return event.durationNs();
}
template <class Event>
std::uint64_t duration_of(const Event& event, long) {
  return event.durationUs() * 1000;
}

void count_nodes(const jit::Block* block, ScriptState& state) {
  for (const jit::Node* node : block->nodes()) {
    const std::string kind = node->kind().toQualString();
    if (kind == "prim::TensorExprGroup" || kind == "prim::FusionGroup") ++state.fused;
    bool is_fallback =
        kind == "prim::Constant" && node->hasAttribute(c10::Symbol::attr("fallback"));
    if (is_fallback || kind == "prim::FallbackGraph") ++state.fallbacks;
    if (kind == "prim::BailOut") ++state.bailouts;
    for (const jit::Block* inner : node->blocks()) count_nodes(inner, state);
    if (node->hasAttribute(c10::attr::Subgraph)) {
      count_nodes(node->g(c10::attr::Subgraph)->block(), state);
    }
  }
}

// Differentiable parts of a graph have their own executors, with their own plans.
void add_plans(jit::GraphExecutor& executor, ScriptState& state) {
  for (auto [inputs, plan] : executor.getDebugState().execution_plans) {
    ++state.graphs;
    state.optimized += plan.graph->toString();
    count_nodes(plan.graph->block(), state);
    for (jit::GraphExecutor* part : plan.code.diff_graph_op_executors()) add_plans(*part, state);
  }
}

void add_plans_of(jit::GraphFunction& function, ScriptState& state) {
  jit::GraphExecutor& executor = function.get_executor();
  if (executor.isOptimized()) add_plans(executor, state);
}

void set_autocast(c10::DeviceType device, bool is_on) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  at::autocast::set_autocast_enabled(device, is_on);
#else
  device == c10::kCPU ? at::autocast::set_cpu_enabled(is_on) : at::autocast::set_enabled(is_on);
#endif
}

jit::GraphFunction* forward_of(const void* module) {
  auto method = static_cast<const jit::Module*>(module)->find_method("forward");
  return method ? jit::tryToGraphFunction(method->function()) : nullptr;
}

}  // namespace

std::uint64_t tensor_peak(const std::function<void()>& run) {
  auto memory = std::make_shared<TensorMemory>();
  {
    c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
    run();
  }
  return memory->peak();
}

std::vector<OperatorEvent> profile(const std::string& device, const std::function<void()>& run) {
  namespace profiler = torch::autograd::profiler;
  using torch::profiler::impl::ActivityType;
  std::set<ActivityType> activities{ActivityType::CPU};
  if (device == "cuda") activities.insert(ActivityType::CUDA);
  torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  run();
  auto result = profiler::disableProfiler();
  std::vector<OperatorEvent> events;
  for (const auto& event : result->events()) {
    events.push_back({event.name(), static_cast<std::uint64_t>(start_of(event, 0)),
                      static_cast<std::uint64_t>(duration_of(event, 0)), event.startThreadId(),
                      event.deviceType() != c10::DeviceType::CPU});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return events;
}

std::string graph_of(const void* module) {
  auto* forward = forward_of(module);
  return forward != nullptr ? forward->graph()->toString() : "";
}

ScriptState script_state(const void* module) {
  ScriptState state;
  auto* forward = forward_of(module);
  if (forward == nullptr) return state;
  // Under autocast it has another executor, which has plans only if it has run.
  add_plans_of(*forward, state);
  for (c10::DeviceType device : {c10::kCPU, c10::kCUDA}) {
    set_autocast(device, true);
    add_plans_of(*forward, state);
    set_autocast(device, false);
  }
  return state;
}

}  // namespace instr
