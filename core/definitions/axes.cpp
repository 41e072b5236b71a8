#include "core/definitions/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/near_match.h"
#include "core/definitions/definition_keys.h"

namespace instr {

namespace {

// The meaning of a known word.
template <class T>
Expected<T> meaning(const char* axis, const std::string& word,
                    const std::vector<std::pair<std::string, T>>& known) {
  return meaning_of(word, known).map_error([&](const std::string& advice) {
    return Error{{}, fmt::format("`{}` is not a known {}", word, axis), advice};
  });
}

std::string data_type_on_axis(const Variant& variant) {
  const std::string type = param_of(variant, "dtype");
  return type.empty() ? kDataTypes[0] : type;
}

struct Axis {
  const char* name;
  std::string (*value)(const Variant& variant);
};

constexpr Axis kAxes[] = {
    {"accelerator", [](const Variant& variant) { return variant.device; }},
    {"backend", [](const Variant& variant) { return std::string(to_string(variant.runtime)); }},
    {"test",
     [](const Variant& variant) {
       return std::string(variant.autograd == Autograd::kForward ? "eval" : "train");
     }},
    {"dtype", data_type_on_axis},
    {"threads", [](const Variant& variant) { return std::to_string(variant.threads); }},
    {"batch_size", [](const Variant& variant) { return param_of(variant, "batch_size"); }},
};

}  // namespace

std::vector<Definition> with_axes(std::vector<Definition> definitions, const ExperimentAxes& axes) {
  for (Definition& definition : definitions) {
    if (!axes.threads.empty()) definition.threads = axes.threads;
    if (!axes.devices.empty() && definition.names_devices) definition.devices = axes.devices;
    bool has_type = false;
    for (auto& [name, values] : definition.matrix) {
      has_type = has_type || name == "dtype";
      if (name != "batch_size" || axes.batch_sizes.empty()) continue;
      values.clear();
      for (int size : axes.batch_sizes) values.push_back(std::to_string(size));
    }
    if (!has_type && !axes.data_types.empty()) {
      auto& types = definition.matrix.emplace_back("dtype", axes.data_types).second;
      if (definition.is_explicit) std::erase(types, kAmp);
    }
  }
  return definitions;
}

Expected<std::string> accelerator_from(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> known;
  for (const std::string& device : known_devices()) known.emplace_back(device, device);
  return meaning("accelerator", name, known);
}

Expected<Runtime> backend_from(const std::string& name) {
  std::vector<std::pair<std::string, Runtime>> known;
  for (const RuntimeFacts& one : kRuntimes) known.emplace_back(one.name, one.runtime);
  return meaning("backend", name, known);
}

Expected<Autograd> test_from(const std::string& name) {
  return meaning<Autograd>("test", name,
                           {{"eval", Autograd::kForward}, {"train", Autograd::kForwardBackward}});
}

Expected<std::string> data_type_from(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> known;
  for (const char* type : kDataTypes) known.emplace_back(type, type);
  return meaning("data type", name, known);
}

std::string param_of(const Variant& variant, std::string_view name) {
  for (const auto& [known, value] : variant.params) {
    if (known == name) return value;
  }
  return "";
}

std::string value_on(std::string_view axis, const Variant& variant) {
  for (const Axis& known : kAxes) {
    if (known.name == axis) return known.value(variant);
  }
  return "";
}

std::string default_type_of(const Variant& variant) {
  const std::string type = param_of(variant, "dtype");
  const auto* known = std::find(std::begin(kDataTypes), std::end(kDataTypes), type);
  return known != std::end(kDataTypes) && type != kAmp ? type : kDataTypes[0];
}

bool is_autocast(const Variant& variant) { return param_of(variant, "dtype") == kAmp; }

}  // namespace instr
