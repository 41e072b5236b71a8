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

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "worker/abi.h"

// Thrown by a snippet that compiles but cannot be measured as its definition requests. The worker
// recognises it by its prefix.
struct instr_definition_error : std::runtime_error {
  explicit instr_definition_error(const std::string& what)
      : std::runtime_error("instr_definition_error: " + what) {}
};

namespace instr_support {

// The tensors of a snippet's arguments and outputs: visited, copied, and passed to verification.

// Stands in for the signature's output if neither setup nor statement declares it.
struct NoOutput {};

inline void hand_over(instr_verification* to, const char* name, const torch::Tensor& value) {
  to->take(to, name, value.defined() ? &value : nullptr, "an undefined tensor");
}
inline void hand_over(instr_verification* to, const char* name, NoOutput) {
  to->take(to, name, nullptr,
           "no value: the statement does not declare one with the output's name");
}
inline void hand_over(instr_verification* to, const char* name, const c10::IValue& value) {
  if (value.isTensor()) return hand_over(to, name, value.toTensor());
  std::string kind = value.tagKind();
  kind[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(kind[0])));
  bool is_vowel = std::string("aeiou").find(kind[0]) != std::string::npos;
  kind = (is_vowel ? "an " : "a ") + kind + ", not a tensor";
  to->take(to, name, nullptr, kind.c_str());
}
template <class T>
void hand_over(instr_verification* to, const char* name, const T&) {
  to->take(to, name, nullptr, "not a tensor");
}

// Calls visit(name, tensor) for each tensor of an argument; for other types does nothing.
template <class Visit>
void each_tensor(const char* name, torch::Tensor& value, const Visit& visit) {
  if (value.defined()) visit(std::string(name), value);
}
template <class Visit>
void each_tensor(const char* name, std::vector<torch::Tensor>& values, const Visit& visit) {
  for (std::size_t i = 0; i != values.size(); ++i) {
    if (values[i].defined()) visit(std::string(name) + "[" + std::to_string(i) + "]", values[i]);
  }
}
template <class T, class Visit>
void each_tensor(const char* name, const T& value, const Visit& visit) {
  if constexpr (std::is_same_v<T, torch::Tensor> || std::is_same_v<T, std::vector<torch::Tensor>>) {
    T same = value;
    each_tensor(name, same, visit);
  }
}

// Returns a copy for trial runs, which may change it.
template <class T>
T copy_of(const T& value) {
  T copy = value;
  each_tensor("", copy, [](const std::string&, torch::Tensor& tensor) {
    tensor = tensor.detach().clone().requires_grad_(tensor.requires_grad());
  });
  return copy;
}

template <class T>
void to_reference(T& value) {
  constexpr bool is_constant =
      std::is_same_v<T, const torch::Tensor> || std::is_same_v<T, const std::vector<torch::Tensor>>;
  if constexpr (is_constant) throw std::runtime_error("a constant argument");
  each_tensor("", value, [](const std::string&, torch::Tensor& tensor) {
    bool is_complex = tensor.is_complex();
    if (!is_complex && !tensor.is_floating_point()) return;
    tensor = tensor.detach()
                 .to(is_complex ? torch::kComplexDouble : torch::kDouble)
                 .requires_grad_(tensor.requires_grad());
  });
}

// Resets the gradients of an argument, and keeps those of the following runs.
template <class T>
void watch_gradient(T& value) {
  each_tensor("", value, [](const std::string&, const torch::Tensor& tensor) {
    if (!tensor.requires_grad()) return;
    if (!tensor.is_leaf()) tensor.retain_grad();
    tensor.mutable_grad() = torch::Tensor();
  });
}
template <class Module>  // torch::nn::Module, torch::jit::Module
void watch_gradients(const Module& module) {
  for (const torch::Tensor& parameter : module.parameters()) {
    parameter.mutable_grad() = torch::Tensor();
  }
}

inline void hand_over_gradient(instr_verification* to, const std::string& of,
                               const torch::Tensor& tensor) {
  if (!tensor.requires_grad()) return;
  const torch::Tensor& gradient = tensor.grad();
  to->take(to, ("gradient of " + of).c_str(), gradient.defined() ? &gradient : nullptr, "");
}
template <class T>
void hand_over_gradients(instr_verification* to, const char* name, T& value) {
  each_tensor(name, value, [to](const std::string& part, const torch::Tensor& tensor) {
    hand_over_gradient(to, part, tensor);
  });
}
inline void hand_over_gradients(instr_verification* to, const torch::nn::Module& module) {
  for (const auto& parameter : module.named_parameters()) {
    hand_over_gradient(to, parameter.key(), parameter.value());
  }
}
inline void hand_over_gradients(instr_verification* to, const torch::jit::Module& module) {
  for (const auto& parameter : module.named_parameters()) {
    hand_over_gradient(to, parameter.name, parameter.value);
  }
}

// TorchScript modules that snippets run: made from a text, or traced from a C++ module.

// The TorchScript type of a C++ argument of forward().
template <class T>
struct ScriptType {
  static std::string name() {
    if constexpr (std::is_same_v<T, bool>)
      return "bool";
    else if constexpr (std::is_integral_v<T>)
      return "int";
    else if constexpr (std::is_floating_point_v<T>)
      return "float";
    else if constexpr (std::is_convertible_v<T, std::string>)
      return "str";
    else
      return "Tensor";
  }
};
template <class T>
struct ScriptType<std::vector<T>> {
  static std::string name() { return "List[" + ScriptType<T>::name() + "]"; }
};
template <class T>
struct ScriptType<c10::List<T>> : ScriptType<std::vector<T>> {};
// ", x: Tensor"
template <class T>
std::string script_argument(const char* name, const T&) {
  return std::string(", ") + name + ": " + ScriptType<T>::name();
}

inline void copy_module(const torch::nn::Module& from, torch::jit::Module& to,
                        const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  for (const auto& parameter : from.named_parameters(/*recurse=*/false)) {
    to.register_parameter(parameter.key(), parameter.value(), /*is_buffer=*/false);
  }
  for (const auto& buffer : from.named_buffers(/*recurse=*/false)) {
    to.register_buffer(buffer.key(), buffer.value());
  }
  to.register_attribute("training", c10::BoolType::get(), from.is_training());
  for (const auto& child : from.named_children()) {
    torch::jit::Module copy(c10::QualifiedName("__torch__.Part"), unit, /*shouldMangle=*/true);
    copy_module(*child.value(), copy, unit);
    to.register_module(child.key(), copy);
  }
}

// torch.ops, with a name for each library that registers operators.
struct ScriptOperators : torch::jit::SugaredValue {
  std::string kind() const override { return "operators"; }
  std::shared_ptr<torch::jit::SugaredValue> attr(const torch::jit::SourceRange&,
                                                 torch::jit::GraphFunction&,
                                                 const std::string& library) override {
    return std::make_shared<torch::jit::BuiltinModule>(library);
  }
};

struct ScriptTorch : torch::jit::BuiltinModule {
  ScriptTorch() : BuiltinModule("aten") {}
  std::shared_ptr<torch::jit::SugaredValue> attr(const torch::jit::SourceRange& where,
                                                 torch::jit::GraphFunction& function,
                                                 const std::string& name) override {
    if (name == "ops") return std::make_shared<ScriptOperators>();
    return BuiltinModule::attr(where, function, name);
  }
};

// Resolves names in a text: `torch` with torch.ops, which LibTorch's own resolver knows only in
// Python.
struct ScriptResolver : torch::jit::NativeResolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& function,
      const torch::jit::SourceRange& where) override {
    if (name == "torch") return std::make_shared<ScriptTorch>();
    return NativeResolver::resolveValue(name, function, where);
  }
};

// Makes a TorchScript module with the parameters, buffers and parts of `from` (may be null) under
// their names, and the forward() that `add_forward(script, unit)` adds. It is saved and loaded
// again, as a user's model would be.
template <class AddForward>
torch::jit::Module script_with(const torch::nn::Module* from, const char* problem,
                               const AddForward& add_forward) {
  try {
    auto unit = std::make_shared<torch::jit::CompilationUnit>();
    torch::jit::Module script(c10::QualifiedName("__torch__.Snippet"), unit);
    if (from != nullptr) copy_module(*from, script, unit);
    add_forward(script, *unit);
    std::stringstream stream;
    script.save(stream);
    stream.seekg(0);
    return torch::jit::load(stream);
  } catch (const c10::Error& error) {
    throw instr_definition_error(std::string(problem) + error.what_without_backtrace());
  } catch (const instr_definition_error&) {
    throw;
  } catch (const std::exception& error) {
    throw instr_definition_error(std::string(problem) + error.what());
  }
}

inline torch::jit::Module make_script(const std::string& body, const torch::nn::Module* from) {
  return script_with(from, "the TorchScript text cannot be used: ",
                     [&body](torch::jit::Module& script, torch::jit::CompilationUnit&) {
                       script.define(body, std::make_shared<ScriptResolver>());
                     });
}

template <class Holder, std::size_t... I>
torch::Tensor call_with(Holder& module, const torch::jit::Stack& inputs,
                        std::index_sequence<I...>) {
  return module(inputs[I].toTensor()...);
}

// Makes a script of the operators that `module` runs on copies of these arguments.
template <class Holder, class... Arguments>
torch::jit::Module traced(Holder& module, const std::vector<std::string>& names,
                          const Arguments&... arguments) {
  static_assert((std::is_same_v<Arguments, torch::Tensor> && ...),
                "instr_bench: only a module of tensors can be traced: write the `torchscript` body "
                "instead of `true`");
  const auto run = [&module](const torch::jit::Stack& inputs) -> torch::jit::Stack {
    return {call_with(module, inputs, std::index_sequence_for<Arguments...>())};
  };
  return script_with(&*module, "the module cannot be traced: ",
                     [&](torch::jit::Module& script, torch::jit::CompilationUnit& unit) {
                       auto state = torch::jit::tracer::trace(
                           {copy_of(arguments)...}, run,
                           [](const torch::Tensor&) { return std::string(); }, /*strict=*/true,
                           /*force_outplace=*/false, &script, names);
                       const c10::QualifiedName name(*script.type()->name(), "forward");
                       script.type()->addMethod(unit.create_function(name, state.first->graph));
                     });
}

inline torch::jit::Module frozen(torch::jit::Module module) {
  module.eval();
  return torch::jit::freeze(module);
}

inline torch::jit::Module optimized(torch::jit::Module module) {
  module.eval();
  return torch::jit::optimize_for_inference(module);
}

}  // namespace instr_support

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
  // A package made by instr_bench: the one that is counted, or natively the one for this processor.
  struct Made {
    const char* counted;
    const char* native;
  };
  explicit Package(const Made& made)
      : Package(std::getenv("INSTR_NATIVE_PACKAGES") != nullptr ? made.native : made.counted) {}

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
