// What LibTorch tells of a run: what its tensors take, how long each operator takes, and what
// TorchScript made of a module. Behind plain types.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace instr {

// The most bytes that CPU tensors made during `run` took at one time.
std::uint64_t tensor_peak(const std::function<void()>& run);

// One call of an operator, or one kernel of a device.
struct OperatorEvent {
  std::string name;
  std::uint64_t start_ns = 0;  // of LibTorch's clock
  std::uint64_t duration_ns = 0;
  std::uint64_t thread = 0;
  bool is_on_device = false;
};

// As LibTorch's own profiler tells of `run`, by their starts.
std::vector<OperatorEvent> profile(const std::string& device, const std::function<void()>& run);

// The graph of a torch::jit::Module's forward, as it was loaded.
std::string graph_of(const void* module);

// What TorchScript runs now instead of the graph: its plans, one for each kind of inputs it has
// met.
struct ScriptState {
  std::string optimized;        // the plans' graphs, in some order
  std::uint64_t graphs = 0;     // plans, those of differentiable parts among them
  std::uint64_t fused = 0;      // groups of operators that a fuser made one
  std::uint64_t fallbacks = 0;  // graphs to go back to where the inputs turn out other
  std::uint64_t bailouts = 0;   // places where such a check may fail
};
ScriptState script_state(const void* module);

}  // namespace instr
