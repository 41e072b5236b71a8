#include <torch/autograd.h>
#include <torch/library.h>

#include "planted.h"

namespace planted {

struct Touch : torch::autograd::Function<Touch> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) {
    work();
    return x * 2;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               torch::autograd::tensor_list gradients) {
    work();
    return {gradients[0] * 2};
  }
};

torch::Tensor touch(const torch::Tensor& x) { return Touch::apply(x); }

}  // namespace planted

TORCH_LIBRARY(planted, library) { library.def("touch(Tensor x) -> Tensor", planted::touch); }
