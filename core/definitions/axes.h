// The axes of experiments: the names of their values, in options, files and results; what
// definitions are multiplied by; what a variant has on each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/definition.h"
#include "core/definitions/variant.h"

namespace instr {

// A value on an axis, by their names: "backend", "inductor".
struct AxisValue {
  std::string axis;
  std::string value;

  bool operator==(const AxisValue&) const = default;
};

// Values that replace the definitions' own. Empty: those stay.
struct ExperimentAxes {
  std::vector<std::string> data_types =
      {};                             // of tensors that a snippet makes without naming a type
  std::vector<int> batch_sizes = {};  // of definitions with a parameter `batch_size`
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};  // of definitions whose texts name `{device}`
  std::vector<std::string> shapes = {};   // of what torch.compile() makes (kShapes)
  std::vector<AxisValue> left_out = {};   // variants that have one of these are not measured
};

// Automatic mixed precision: float32, and autocast around the statement.
inline constexpr const char* kAmp = "amp";

// Values of the matrix parameter `dtype`, the first also that of those without one: LibTorch's
// default type, of tensors without an explicit type, or kAmp.
inline constexpr const char* kDataTypes[] = {"float32", "float64", "float16", "bfloat16", kAmp};

// Definitions that have their own parameter `dtype` keep its values; those that are explicit have
// no variants for kAmp, as nothing is put around their statements.
std::vector<Definition> apply_axes(std::vector<Definition> definitions, const ExperimentAxes& axes);

// Those that have none of these values. An error, without a place, if that leaves none.
Expected<std::vector<Variant>> leave_out(std::vector<Variant> variants,
                                         const std::vector<AxisValue>& left_out);

// A parameter's value; empty if the variant has no such parameter.
std::string find_param(const Variant& variant, std::string_view name);

// What it has on the axis of that name, such as "backend"; empty if nothing (batch_size).
std::string find_axis_value(std::string_view axis, const Variant& variant);

// LibTorch's default type while it runs: "float32", ...
std::string find_default_type(const Variant& variant);

// Whether its statement runs under autocast: in bfloat16 on the CPU and float16 on CUDA where that
// is precise enough.
bool is_autocast(const Variant& variant);

// Whether its compiler has to make code for any sizes.
bool has_dynamic_shapes(const Variant& variant);

// The meaning of a value's name on each axis. Errors have no place.
Expected<std::string> parse_device(const std::string& name);
Expected<Backend> parse_backend(const std::string& name);
Expected<Autograd> parse_test(const std::string& name);  // "eval": forward, "train": with backward
Expected<std::string> parse_data_type(const std::string& name);
Expected<std::string> parse_shapes(const std::string& name);

// Whether a value may be left out.
Expected<void> check_left_out(const AxisValue& left_out);

}  // namespace instr
