#include "worker/native/tensor_difference.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <vector>

namespace instr {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Converts to real numbers, dense and on the CPU; a complex number becomes two.
at::Tensor to_plain(at::Tensor tensor) {
  if (tensor.layout() != at::kStrided) tensor = tensor.to_dense();
  if (tensor.is_quantized()) tensor = tensor.dequantize();
  tensor = tensor.detach().to(at::kCPU);
  if (tensor.is_complex()) tensor = at::view_as_real(tensor.resolve_conj());
  return tensor.resolve_neg();
}

at::Tensor is_equal(const at::Tensor& one, const at::Tensor& other) {
  at::Tensor equal = at::eq(one, other);
  return one.is_floating_point() ? equal.logical_or(one.isnan().logical_and(other.isnan())) : equal;
}

// Unequal values differ, even if the difference vanishes in a double.
at::Tensor differences(const at::Tensor& one, const at::Tensor& other, const at::Tensor& equal) {
  double min = one.is_floating_point() ? std::numeric_limits<double>::min() : 1;
  at::Tensor difference = (one.to(at::kDouble) - other.to(at::kDouble)).abs();
  difference.masked_fill_(difference.isnan(), kInfinity);
  difference.clamp_min_(min);
  return difference.masked_fill_(equal, 0.0);
}

std::string format_index(std::int64_t index, const at::Tensor& tensor) {
  auto sizes = tensor.sizes().vec();
  std::string text;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    text = std::to_string(index % sizes[i]) + (text.empty() ? "" : ", ") + text;
    index /= sizes[i];
  }
  return "[" + text + "]";
}

double cosine_of(at::Tensor one, at::Tensor other, const at::Tensor& equal) {
  // Values that are infinite or NaN in both count as equal.
  at::Tensor is_alike = equal.logical_and(one.isfinite().logical_not());
  one = one.masked_fill(is_alike, 0.0);
  other = other.masked_fill(is_alike, 0.0);
  double lengths = (one.norm() * other.norm()).item<double>();
  if (one.norm().item<double>() == 0 && other.norm().item<double>() == 0) return 1;
  return lengths == 0 ? 0 : (one * other).sum().item<double>() / lengths;
}

}  // namespace

Difference measure_difference(const at::Tensor& eager, const at::Tensor& other, double relative,
                              double absolute) {
  Difference difference;
  at::Tensor first = to_plain(eager);
  at::Tensor second = to_plain(other);
  if (first.numel() == 0) return difference;
  at::Tensor equal = is_equal(first, second);
  const at::Tensor nan = first.isnan();
  const at::Tensor other_nan = second.isnan();
  difference.is_nan_in_one = nan.ne(other_nan).any().item<bool>();
  difference.is_all_nan = nan.logical_and(other_nan).all().item<bool>();
  at::Tensor distance = differences(first, second, equal).reshape({-1});
  first = first.to(at::kDouble);
  second = second.to(at::kDouble);
  // Infinite values are either equal or not.
  at::Tensor magnitude = first.abs();
  magnitude = magnitude.masked_fill(magnitude.isfinite().logical_not(), 0.0).reshape({-1});
  at::Tensor allowed = magnitude * relative + absolute;
  at::Tensor excess = distance - allowed;
  difference.exceeds = excess.max().item<double>() > 0;
  std::int64_t worst = (difference.exceeds ? excess : distance).argmax().item<std::int64_t>();
  difference.largest = distance[worst].item<double>();
  difference.allowed = allowed[worst].item<double>();
  difference.value = second.reshape({-1})[worst].item<double>();
  difference.eager_value = first.reshape({-1})[worst].item<double>();
  difference.at = format_index(eager.is_complex() ? worst / 2 : worst, eager);
  difference.cosine = cosine_of(first, second, equal);
  return difference;
}

ReferenceErrors measure_errors(const at::Tensor& exact, const at::Tensor& eager,
                               const at::Tensor& other) {
  at::Tensor values = to_plain(exact).reshape({-1});
  at::Tensor first = to_plain(eager).to(at::kDouble).reshape({-1});
  at::Tensor second = to_plain(other).to(at::kDouble).reshape({-1});
  const at::Tensor known =
      values.isnan().logical_or(first.isnan()).logical_or(second.isnan()).logical_not();
  values = values.masked_select(known);
  ReferenceErrors errors;
  if (values.numel() == 0) return errors;
  const auto from_exact = [&](const at::Tensor& tensor) {
    const at::Tensor selected = tensor.masked_select(known);
    return differences(selected, values, is_equal(selected, values));
  };
  first = from_exact(first);
  second = from_exact(second);
  errors.largest = second.max().item<double>();
  errors.eager_largest = first.max().item<double>();
  errors.mean_square = second.square().mean().sqrt().item<double>();
  errors.eager_mean_square = first.square().mean().sqrt().item<double>();
  return errors;
}

bool has_same_bits(const at::Tensor& one, const at::Tensor& other) {
  at::Tensor first = to_plain(one);
  at::Tensor second = to_plain(other);
  at::Tensor same = is_equal(first, second);
  if (first.is_floating_point()) {
    same = same.logical_and(first.signbit().eq(second.signbit()).logical_or(first.isnan()));
  }
  return same.all().item<bool>();
}

}  // namespace instr
