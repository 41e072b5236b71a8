// The difference of two tensors of the same shape, on any device, of any layout.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace instr {

// The difference that exceeds the allowed one by most; if none does, the greatest. Values that are
// equal, or NaN in both, differ by 0; if only one is not finite, the difference is infinite.
struct Difference {
  bool exceeds = false;
  double largest = 0;
  double allowed = 0;  // there: absolute + relative * |eager's|
  std::string at;      // "[2, 1]"
  double value = 0;
  double eager_value = 0;
  double cosine = 1;  // of the angle between both, as vectors; 1 of two zeros, NaN if NaN is in one
};
Difference difference_of(const at::Tensor& eager, const at::Tensor& other, double relative,
                         double absolute);

// The greatest difference from `exact`, as above.
double largest_difference(const at::Tensor& tensor, const at::Tensor& exact);

// The root of the mean of the squared differences from `exact`; NaN if there is one in either.
double mean_square_difference(const at::Tensor& tensor, const at::Tensor& exact);

// All NaNs are alike. Both of the same data type.
bool has_same_bits(const at::Tensor& one, const at::Tensor& other);

}  // namespace instr
