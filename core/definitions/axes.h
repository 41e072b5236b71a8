// The axes of experiments: names of their values in options, files and results; how they multiply
// definitions; a variant's value on each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/grouped_benchmark.h"
#include "core/definitions/variant.h"

namespace instr {

// For example "backend", "inductor".
struct AxisValue {
  std::string axis;
  std::string value;

  bool operator==(const AxisValue&) const = default;
};

// Values that replace the definitions' own; an empty list replaces nothing.
struct ExperimentAxes {
  std::vector<std::string> data_types = {};  // types of tensors that a snippet makes without a type
  std::vector<int> batch_sizes = {};         // values for definitions with a parameter `batch_size`
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};   // values for definitions whose texts contain `{device}`
  std::vector<std::string> shapes = {};    // values of kShapes, for torch.compile()
  std::vector<std::string> settings = {};  // names of settings, or kDefaultSetting
  std::vector<std::string> memory_formats = {};  // values of kMemoryFormats
  // Python that makes an optimizer of `params`, for all modules in Python that are trained.
  std::optional<std::string> optimizer = {};
  // Values of matrix parameters, by name, in the definitions that have them.
  std::map<std::string, std::vector<std::string>> parameters = {};
  // Also the variants that the axis `test` calls train_eval, which are left out by default.
  bool has_train_eval = false;
  // Count what torch.compile() executes, instead of calls of its result; leave out other backends.
  bool only_compiling = false;
  std::vector<AxisValue> left_out = {};  // variants with one of these values are not measured
};

// Automatic mixed precision: float32 with autocast around the statement.
inline constexpr const char* kAmp = "amp";

// Values of the axis `test`, in the order of Autograd.
inline constexpr const char* kTests[] = {"eval", "train", "train_eval"};

// Values of the matrix parameter `dtype`, which is LibTorch's default type for tensors without an
// explicit type, or kAmp. Variants without the parameter have the first value.
inline constexpr const char* kDataTypes[] = {"float32", "float64", "float16", "bfloat16", kAmp};

// Applies the axes to each definition. `settings`: those that the axes name. A definition with its
// own parameter `dtype` keeps its values; an explicit one gets no kAmp, as nothing is put around
// its statement.
std::vector<GroupedBenchmark> apply_axes(
    std::vector<GroupedBenchmark> definitions, const ExperimentAxes& axes,
    const std::vector<std::shared_ptr<const Setting>>& settings = {});

// Refuses a parameter that no definition has.
Expected<void> check_parameters(const std::vector<GroupedBenchmark>& definitions,
                                const ExperimentAxes& axes);

// Removes the variants that have one of these values. An error, without a place, if none remains.
Expected<std::vector<Variant>> leave_out(std::vector<Variant> variants,
                                         const std::vector<AxisValue>& left_out);

// Returns the variant's value on an axis such as "backend"; empty if it has none (batch_size).
std::string find_axis_value(std::string_view axis, const Variant& variant);

// Returns LibTorch's default type for the variant: "float32", ...
std::string find_default_type(const Variant& variant);

// Returns true if the statement runs under autocast: in bfloat16 on the CPU and float16 on CUDA
// where that is precise enough.
bool is_autocast(const Variant& variant);

// Returns true if the compiler has to generate code for any sizes.
bool has_dynamic_shapes(const Variant& variant);

// Returns true if the module and its images are in the memory format channels_last.
bool has_channels_last(const Variant& variant);

// Refuses to leave out eager, which the other backends are compared with.
Expected<void> check_left_out(const AxisValue& left_out);

}  // namespace instr
