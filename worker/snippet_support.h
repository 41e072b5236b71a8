// Included in every unit, precompiled: LibTorch, the snippet ABI, and the functions that generated
// code calls outside its measured loops. Valid C++17, since old LibTorches need that with some
// compilers. For units, the headers of worker/ become a single text.
#pragma once

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/script.h>
#include <torch/torch.h>

#if __has_include(<torch/csrc/inductor/aoti_package/model_package_loader.h>)  // 2.6 and newer
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#define INSTR_HAS_PACKAGES 1
#endif

#include <unistd.h>

#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "worker/abi.h"
#include "worker/definition_error.h"
#include "worker/snippet_script.h"
#include "worker/snippet_tensors.h"

// The loop that is counted, around each statement and around nothing. The barrier pins the counter
// to memory, so that the loop costs the same for any number of registers that the statement uses.
#define INSTR_BLOCKS_BEGIN(context)                               \
  while (uint64_t instr_left_ = (context)->next_block(context)) { \
    for (; instr_left_ != 0; --instr_left_) {
#define INSTR_BLOCKS_END                             \
  asm volatile("" : "+m"(instr_left_) : : "memory"); \
  }                                                  \
  }

#define INSTR_SNIPPET extern "C" __attribute__((visibility("default"), noinline, used)) void

// Never called, and quick to compile.
#define INSTR_SECOND_CALLER static __attribute__((used, noinline, optnone)) void

// Never called: compiled only for its errors.
#define INSTR_NEVER_EMITTED [[maybe_unused]] static void

// From torch/csrc/jit/codegen/fuser/interface.h, which Debian does not install, and from
// torch/csrc/jit/tensorexpr/kernel.h, which takes long to parse.
namespace torch::jit {
TORCH_API void overrideCanFuseOnCPU(bool value);
namespace tensorexpr {
TORCH_API bool& getTEMustUseLLVMOnCPU();
}
}  // namespace torch::jit

// From ATen/autocast_mode.h, which takes long to parse.
namespace at::autocast {
TORCH_API void clear_cache();
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
TORCH_API void set_autocast_enabled(at::DeviceType device, bool enabled);
TORCH_API void set_autocast_dtype(at::DeviceType device, at::ScalarType type);
#else
TORCH_API void set_enabled(bool enabled);
TORCH_API void set_cpu_enabled(bool enabled);
TORCH_API void set_autocast_gpu_dtype(at::ScalarType type);
TORCH_API void set_autocast_cpu_dtype(at::ScalarType type);
#endif
}  // namespace at::autocast

namespace instr_support {

// A module's work on the current device, captured once. `Graph` is at::cuda::CUDAGraph, whose
// header is included by units that need it. Capturing requires a separate stream, and follows the
// first runs on copies of the inputs, which profile and optimise the module and load its libraries.
template <class Graph>
class Captured {
 public:
  using Inputs = std::vector<c10::IValue>;

  Captured(torch::jit::Module module, const Inputs& inputs, const Inputs& copies) {
    torch::cuda::synchronize();  // the setup's work is on another stream
    c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
    c10::StreamGuard guard(cuda.getStreamFromGlobalPool(cuda.getDevice()));
    for (int run = 0; run != kFirstRuns; ++run) module.forward(copies);
    torch::cuda::synchronize();
    graph_.capture_begin();
    try {
      output_ = module.forward(inputs);
    } catch (...) {
      end_quietly();
      throw;
    }
    graph_.capture_end();
  }

  // Returns the same tensor each time.
  const c10::IValue& replay() {
    graph_.replay();
    return output_;
  }

 private:
  static constexpr int kFirstRuns = 3;

  // A failed capture must be ended as well, which fails again.
  void end_quietly() {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
    }
  }

  Graph graph_;
  c10::IValue output_;
};

#ifdef INSTR_HAS_PACKAGES
// An AOTInductor package that runs like a module.
class Package {
 public:
  explicit Package(const char* path) : loader_(readable(path)) {}

  c10::IValue forward(const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> outputs = loader_.run(inputs);
    if (outputs.size() == 1) return outputs.front();
    return c10::IValue(outputs);
  }

 private:
  static const char* readable(const char* path) {
    if (access(path, R_OK) == 0) return path;
    throw instr_definition_error(std::string("there is no package '") + path +
                                 "' that can be read: make it with Python's "
                                 "torch._inductor.aoti_compile_and_package");
  }

  torch::inductor::AOTIModelPackageLoader loader_;
};
#endif

// Switches the tensor-expression fuser on the CPU as well, even if it was built without a compiler
// and interprets fused code. The setting is read when a module has been profiled.
inline void set_fuser(bool is_on) {
  torch::jit::setTensorExprFuserEnabled(is_on);
  torch::jit::overrideCanFuseOnCPU(is_on);
  torch::jit::tensorexpr::getTEMustUseLLVMOnCPU() = false;
}

// Until end(), or the end of the scope, runs operators in a lower precision where that suffices, as
// Python's torch.autocast() does with its usual type for the device.
class Autocast {
 public:
  explicit Autocast(c10::DeviceType device) : device_(device) {
    switch_to(true);
    at::autocast::increment_nesting();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast() { end(); }

  void end() {
    if (!is_on_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    switch_to(false);
  }

 private:
  void switch_to(bool is_on) {
    is_on_ = is_on;
    const bool is_cpu = device_ == c10::kCPU;
    const at::ScalarType type = is_cpu ? at::kBFloat16 : at::kHalf;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(device_, is_on);
    at::autocast::set_autocast_dtype(device_, type);
#else
    is_cpu ? at::autocast::set_cpu_enabled(is_on) : at::autocast::set_enabled(is_on);
    is_cpu ? at::autocast::set_autocast_cpu_dtype(type)
           : at::autocast::set_autocast_gpu_dtype(type);
#endif
  }

  c10::DeviceType device_;
  bool is_on_ = false;
};

inline void check_script_output(const c10::IValue& value, const char* output) {
  if (value.isTensor()) return;
  throw instr_definition_error(std::string("the TorchScript output '") + output + "' is a " +
                               value.tagKind() + ", not a tensor: let the body convert it to one");
}

inline void check_differentiable(const torch::Tensor& output, const char* name) {
  if (!output.defined()) {
    throw instr_definition_error(std::string("the output '") + name + "' is an undefined tensor");
  }
  if (output.requires_grad()) return;
  if (!at::GradMode::is_enabled()) {
    throw instr_definition_error(
        "gradients are switched off by a guard in the setup, such as torch::NoGradGuard: end the "
        "guard's scope in the setup, or leave out `autograd`");
  }
  throw instr_definition_error(
      std::string("no differentiable input: the output '") + name +
      "' does not require a gradient: make an input with torch::requires_grad() in the setup");
}

inline void check_scalar(const torch::Tensor& output, const char* name) {
  if (output.numel() == 1) return;
  std::ostringstream shape;
  shape << output.sizes();
  throw instr_definition_error(std::string("the output '") + name +
                               "' is not a scalar: its shape is " + shape.str() +
                               ": add reduce = \"sum\" or reduce = \"mean\" to the definition");
}

inline const torch::Tensor& as_output(const torch::Tensor& output) { return output; }
template <class T>
const torch::Tensor& as_output(const T&) {
  static_assert(
      std::is_same_v<T, torch::Tensor>,
      "instr_bench: the signature's output is not a torch::Tensor, which backward() needs");
  throw instr_definition_error("the output is not a tensor");
}

}  // namespace instr_support
