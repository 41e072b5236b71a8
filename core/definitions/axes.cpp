#include "core/definitions/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/definitions/declarations.h"
#include "core/definitions/definition_keys.h"

namespace instr {

namespace {

// Returns a parameter's value; empty if the variant has no such parameter.
std::string find_param(const Variant& variant, std::string_view name) {
  for (const auto& [known, value] : variant.params) {
    if (known == name) return value;
  }
  return "";
}

struct Axis {
  const char* name;
  std::string (*value)(const Variant& variant);
};

constexpr Axis kAxes[] = {
    {"device", [](const Variant& variant) { return variant.device; }},
    {"backend", [](const Variant& variant) { return std::string(to_string(variant.backend)); }},
    {"test",
     [](const Variant& variant) {
       return std::string(kTests[static_cast<std::size_t>(variant.autograd)]);
     }},
    {"dtype",
     [](const Variant& variant) {
       const std::string type = find_param(variant, "dtype");
       return type.empty() ? kDataTypes[0] : type;
     }},
    {"shapes",
     [](const Variant& variant) { return std::string(kShapes[has_dynamic_shapes(variant)]); }},
    {"setting",
     [](const Variant& variant) {
       const std::string name = find_param(variant, "setting");
       return name.empty() ? kDefaultSetting : name;
     }},
    {"memory_format",
     [](const Variant& variant) {
       return std::string(kMemoryFormats[has_channels_last(variant)]);
     }},
    {"threads", [](const Variant& variant) { return std::to_string(variant.threads); }},
    {"batch_size", [](const Variant& variant) { return find_param(variant, "batch_size"); }},
};

}  // namespace

std::vector<GroupedBenchmark> apply_axes(
    std::vector<GroupedBenchmark> definitions, const ExperimentAxes& axes,
    const std::vector<std::shared_ptr<const Setting>>& settings) {
  for (GroupedBenchmark& benchmark : definitions) {
    if (!settings.empty()) benchmark.settings = settings;
    if (!axes.threads.empty()) benchmark.threads = axes.threads;
    if (!axes.shapes.empty()) benchmark.shapes = axes.shapes;
    if (!axes.memory_formats.empty()) benchmark.memory_formats = axes.memory_formats;
    benchmark.has_train_eval = axes.has_train_eval;
    if (axes.optimizer && benchmark.autograd) benchmark.optimizer = Text{*axes.optimizer, {}};
    benchmark.only_compiling = axes.only_compiling && !benchmark.compiles;
    if (!axes.devices.empty() && benchmark.names_devices) benchmark.devices = axes.devices;
    bool has_type = false;
    for (auto& [name, values] : benchmark.matrix) {
      has_type = has_type || name == "dtype";
      if (const auto own = axes.parameters.find(name); own != axes.parameters.end()) {
        values = own->second;
      }
      if (name != "batch_size" || axes.batch_sizes.empty()) continue;
      values.clear();
      for (int size : axes.batch_sizes) values.push_back(std::to_string(size));
    }
    if (!has_type && !axes.data_types.empty()) {
      auto& types = benchmark.matrix.emplace_back("dtype", axes.data_types).second;
      if (benchmark.is_explicit) std::erase(types, kAmp);
    }
  }
  return definitions;
}

Expected<void> check_parameters(const std::vector<GroupedBenchmark>& definitions,
                                const ExperimentAxes& axes) {
  std::set<std::string> known;
  for (const GroupedBenchmark& benchmark : definitions) {
    for (const auto& [name, values] : benchmark.matrix) known.insert(name);
  }
  for (const auto& [name, values] : axes.parameters) {
    if (known.contains(name)) continue;
    return fail(fmt::format("no benchmark has a parameter `{}`", printable(name)),
                did_you_mean(name, {known.begin(), known.end()}));
  }
  return {};
}

Expected<void> check_left_out(const AxisValue& left_out) {
  if (left_out != AxisValue{"backend", to_string(Backend::kEager)}) return {};
  return fail("eager cannot be left out, as the other backends are compared with it");
}

Expected<std::vector<Variant>> leave_out(std::vector<Variant> variants,
                                         const std::vector<AxisValue>& left_out) {
  const std::size_t before = variants.size();
  std::erase_if(variants, [&left_out](const Variant& variant) {
    return std::any_of(left_out.begin(), left_out.end(), [&variant](const AxisValue& value) {
      return find_axis_value(value.axis, variant) == value.value;
    });
  });
  if (!variants.empty() || before == 0) return variants;
  return fail("all variants are left out", "leave out fewer values");
}

std::string find_axis_value(std::string_view axis, const Variant& variant) {
  for (const Axis& known : kAxes) {
    if (known.name == axis) return known.value(variant);
  }
  return "";
}

std::string find_default_type(const Variant& variant) {
  const std::string type = find_param(variant, "dtype");
  const auto* known = std::find(std::begin(kDataTypes), std::end(kDataTypes), type);
  return known != std::end(kDataTypes) && type != kAmp ? type : kDataTypes[0];
}

bool has_dynamic_shapes(const Variant& variant) {
  return find_param(variant, "shapes") == kShapes[1];
}

bool has_channels_last(const Variant& variant) {
  return find_param(variant, "memory_format") == kMemoryFormats[1];
}

bool is_autocast(const Variant& variant) { return find_param(variant, "dtype") == kAmp; }

}  // namespace instr
