// The difference of two tensors of the same shape, on any device, of any layout.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace instr {

// The difference that exceeds the allowed one by most; if none does, the greatest. Values that are
// equal, or NaN in both, differ by 0; if only one is not finite, the difference is infinite.
struct Difference {
  bool exceeds = false;
  bool is_nan_in_one = false;  // somewhere one of the two is NaN, and the other is not
  bool is_all_nan = false;     // both are NaN everywhere
  double largest = 0;
  double allowed = 0;  // there: absolute + relative * |eager's|
  std::string at;      // "[2, 1]"
  double value = 0;
  double eager_value = 0;
  double cosine = 1;  // of the angle between both, as vectors; 1 of two zeros, NaN if NaN is in one
};
Difference difference_of(const at::Tensor& eager, const at::Tensor& other, double relative,
                         double absolute);

// The differences of both from `exact`, of values that are NaN in none of the three.
struct ReferenceErrors {
  double largest = 0;
  double eager_largest = 0;
  double mean_square = 0;  // the root of the mean of the squares
  double eager_mean_square = 0;
};
ReferenceErrors errors_against(const at::Tensor& exact, const at::Tensor& eager,
                               const at::Tensor& other);

// All NaNs are alike. Both of the same data type.
bool has_same_bits(const at::Tensor& one, const at::Tensor& other);

}  // namespace instr
