// The difference between two tensors of the same shape, on any device, of any layout.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace instr {

// The difference that exceeds the allowed one by most, or else the maximum. Values that are equal,
// or NaN in both, differ by 0; if only one is not finite, the difference is infinite.
struct Difference {
  bool exceeds = false;
  bool is_nan_in_one = false;  // a value is NaN in only one of the tensors
  bool is_all_nan = false;     // both are NaN everywhere
  double largest = 0;
  double allowed = 0;  // there: absolute + relative * |eager's|
  std::string at;      // "[2, 1]"
  double value = 0;
  double eager_value = 0;
  // The cosine of the angle between the vectors: 1 if both are 0, NaN if either has a NaN.
  double cosine = 1;
};
Difference measure_difference(const at::Tensor& eager, const at::Tensor& other, double relative,
                              double absolute);

// The differences of both from `exact`, without values that are NaN in any of the three.
struct ReferenceErrors {
  double largest = 0;
  double eager_largest = 0;
  double mean_square = 0;  // root mean square
  double eager_mean_square = 0;
};
ReferenceErrors measure_errors(const at::Tensor& exact, const at::Tensor& eager,
                               const at::Tensor& other);

// True if all values are equal in their bits, or NaN in both. Both have the same data type.
bool has_same_bits(const at::Tensor& one, const at::Tensor& other);

}  // namespace instr
