#include "core/variant.h"

namespace instr {

const char* to_string(Runtime runtime) {
  switch (runtime) {
    case Runtime::kEager: return "eager";
    case Runtime::kTorchScript: return "torchscript";
  }
  return "unknown";
}

const char* to_string(Autograd autograd) {
  switch (autograd) {
    case Autograd::kForward: return "forward";
    case Autograd::kForwardBackward: return "forward_backward";
  }
  return "unknown";
}

}  // namespace instr
