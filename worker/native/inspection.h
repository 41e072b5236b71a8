// LibTorch's reports about a run, as plain types: the memory of tensors, the time of each operator,
// and TorchScript's compilation of a module.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace instr {

// Returns the peak bytes of CPU tensors created during `run`.
std::uint64_t tensor_peak(const std::function<void()>& run);

// A call of an operator, or a kernel of a device.
struct OperatorEvent {
  std::string name;
  std::uint64_t start_ns = 0;  // the time on LibTorch's clock
  std::uint64_t duration_ns = 0;
  std::uint64_t thread = 0;
  bool is_on_device = false;
};

// Runs `run` under LibTorch's profiler; returns the events ordered by start.
std::vector<OperatorEvent> profile(const std::string& device, const std::function<void()>& run);

// Returns the graph of a torch::jit::Module's forward(), as loaded.
std::string graph_of(const void* module);

// The plans that TorchScript now runs instead of the graph, a plan for each kind of inputs so far.
struct ScriptState {
  std::string optimized;        // the plans' graphs, in some order
  std::uint64_t graphs = 0;     // plans, including those of differentiable parts
  std::uint64_t fused = 0;      // groups of operators merged by a fuser
  std::uint64_t fallbacks = 0;  // graphs for inputs of another kind
  std::uint64_t bailouts = 0;   // places where such a check may fail
};
ScriptState script_state(const void* module);

}  // namespace instr
