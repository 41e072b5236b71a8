#include "worker/torch_side.h"

// ATen/ATen.h and torch/script.h would take twice as long to compile as these headers.
#define AT_PER_OPERATOR_HEADERS
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/Version.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/relu.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <cxxabi.h>
#include <string.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

namespace instr::torch_side {

std::string version() { return TORCH_VERSION; }

std::string cpu_capability() {
#if TORCH_VERSION_MAJOR >= 2
  return at::get_cpu_capability();
#else
  std::string config = at::show_config();
  const std::string mark = "CPU capability usage: ";
  std::size_t begin = config.find(mark);
  if (begin == std::string::npos) return "unknown";
  begin += mark.size();
  return config.substr(begin, config.find('\n', begin) - begin);
#endif
}

void prepare(int threads) {
  at::set_num_threads(threads);
  at::manual_seed(0);
}

namespace {

constexpr int kFirstDevice = static_cast<int>(c10::kCPU) + 1;
constexpr int kEndOfDevices = static_cast<int>(c10::kMeta);

// Removes all devices but the CPU: autograd's engine starts a thread for each (a build with Vulkan
// always has it), and then refuses to work in forked processes.
void forget_devices() {
  for (int type = kFirstDevice; type < kEndOfDevices; ++type) {
    c10::impl::device_guard_impl_registry[type].store(nullptr);
  }
}

// Runs the operators that most snippets and their setups use.
void warm_up_eager() {
  prepare(1);
  for (int round = 0; round < 3; ++round) {
    auto x = torch::rand({4, 4}) + torch::ones({4, 4}) + torch::zeros({4, 4});
    auto w = torch::rand({4, 4}, at::TensorOptions().requires_grad(true));
    auto y = at::mm(x, w);
    y = at::relu(y + x) * 2;
    y = y.t().contiguous().view({16}).sum();
    y.backward();
  }
}

// Has autograd run backward functions in the calling thread, and its engine start none for the
// device: when such a thread wakes up, and where it allocates, depends on the system.
void disable_device_threads() {
#if TORCH_VERSION_MAJOR >= 2
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
#endif
  const c10::impl::DeviceGuardImplInterface* known[kEndOfDevices];
  for (int type = kFirstDevice; type < kEndOfDevices; ++type) {
    known[type] = c10::impl::device_guard_impl_registry[type].load();
  }
  forget_devices();
  torch::autograd::Engine::get_default_engine().initialize_device_threads_pool();
  for (int type = kFirstDevice; type < kEndOfDevices; ++type) {
    c10::impl::device_guard_impl_registry[type].store(known[type]);
  }
}

// Initializes CUDA.
void warm_up_cuda() {
  prepare(1);
  disable_device_threads();
  const auto on_device = at::device(at::kCUDA);
  for (int round = 0; round < 3; ++round) {
    auto x = torch::rand({4, 4}, on_device) + torch::ones({4, 4}, on_device);
    auto y = at::relu(at::mm(x, x) + x) * 2;
    y.t().contiguous().view({16}).sum().cpu();
  }
}

void warm_up_torchscript(c10::Device device) {
  torch::jit::Module module("instr_warm_up");
  module.register_parameter("w", torch::rand({4, 4}, device), false);
  module.define(
      "def forward(self, x):\n"
      "    y = torch.mm(x, self.w) + x\n"
      "    return torch.relu(y) * 2\n");
  std::stringstream file;
  module.save(file);
  auto loaded = torch::jit::load(file);
  for (int round = 0; round < 5; ++round) {
    auto x = torch::rand({4, 4}, device).requires_grad_(device.is_cpu());
    auto y = loaded.forward({x}).toTensor().sum();
    if (y.requires_grad()) y.backward();
  }
}

bool is_for_cuda(const std::string& kind) { return kind.find("cuda") != std::string::npos; }

bool is_for_torchscript(const std::string& kind) { return kind.rfind("torchscript", 0) == 0; }

const char kDefinitionErrorMark[] = "instr_definition_error: ";

Caught caught(std::string text) {
  Caught result;
  result.any = true;
  const std::string mark = kDefinitionErrorMark;
  result.is_definition_error = text.compare(0, mark.size(), mark) == 0;
  result.text = result.is_definition_error ? text.substr(mark.size()) : std::move(text);
  return result;
}

}  // namespace

void import_for(const char* kind) {
  if (!is_for_cuda(kind)) forget_devices();
  prepare(1);
  // On first use, TorchScript compiles its own functions. With a device, autograd's engine would
  // start a thread for it, which forked processes lack.
  if (is_for_torchscript(kind) && !is_for_cuda(kind)) warm_up_torchscript(c10::kCPU);
}

void warm_up(const char* kind) {
  const c10::DeviceType device = is_for_cuda(kind) ? c10::kCUDA : c10::kCPU;
  if (device == c10::kCUDA) warm_up_cuda();
  if (is_for_torchscript(kind)) warm_up_torchscript(device);
  if (device == c10::kCPU && strcmp(kind, "cold") != 0) warm_up_eager();
}

instr_snippet rehearsed_snippet() { return nullptr; }

bool has_interpreter() { return false; }
void reset_interpreter() {}
void use_stack(void*, uint64_t) {}

bool follow_calls(uint64_t (*)()) { return false; }
std::string followed_calls() { return ""; }
std::string loaded_modules() { return ""; }

uint64_t warm_up_for(uint64_t iterations) {
  if (iterations >= 24) return 8;
  return iterations >= 6 ? 4 : 2;
}

BlockEntry block_entry() { return {}; }
uint64_t max_block() { return 960; }

bool note_code() { return false; }
void end_noting_code() {}
void settle_code(uint64_t) {}

Caught run_guarded(void (*body)(void*), void* argument) {
  try {
    body(argument);
    return Caught{};
  } catch (abi::__forced_unwind&) {
    throw;  // pthread_exit(): must reach the thread's start
  } catch (const c10::Error& error) {
    return caught(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return caught(error.what());
  } catch (...) {
    return caught("an exception that is not a std::exception");
  }
}

}  // namespace instr::torch_side
