// The small library in which instr_bench selftest plants slow-downs of known size.
#pragma once

#include <torch/types.h>

namespace planted {

// Everything that a slow-down is planted in, once.
void work();

// x * 2, with one work() in the forward pass and one in the backward pass; also
// torch.ops.planted.touch.
torch::Tensor touch(const torch::Tensor& x);

}  // namespace planted
