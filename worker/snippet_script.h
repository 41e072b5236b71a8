// TorchScript modules that snippets run: made from a text, or traced from a C++ module.
#pragma once

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "worker/definition_error.h"
#include "worker/snippet_tensors.h"

namespace instr_support {

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
