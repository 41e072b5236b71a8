// The tensors of a snippet's arguments and outputs: visited, copied, and passed to verification.
#pragma once

#include <torch/script.h>
#include <torch/torch.h>

#include <cctype>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "worker/abi.h"

namespace instr_support {

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

}  // namespace instr_support
