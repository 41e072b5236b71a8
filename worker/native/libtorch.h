// LibTorch without Valgrind, as plain types: the device of a snippet's work (seeding, waiting,
// memory) and the default data type; and reports about a run: the memory of tensors, the time of
// each operator, and TorchScript's compilation of a module.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace instr {

// Returns the reason why snippets cannot run on this device ("cpu", "cuda"); nothing if they can.
std::optional<std::string> unusable_reason(const std::string& device);

// Seeds the device's generators with 0. Does nothing for "cpu": torch_side::prepare() seeds it.
void seed(const std::string& device);

// Waits until all queued work is done. Does nothing for "cpu".
void wait_for(const std::string& device);

// The maximum number of bytes that LibTorch's allocator used on the device since reset_peak();
// nothing on the CPU, or if LibTorch (before 2.9) does not report it.
void reset_peak(const std::string& device);
std::optional<std::uint64_t> peak_bytes(const std::string& device);

// Sets the data type of tensors that a snippet makes without naming one: "float32", "float64",
// "float16" or "bfloat16". False for another name.
bool set_default_type(const std::string& name);

// Switches this thread's recording of gradients on or off, and returns whether it was on.
bool switch_gradients(bool is_on);

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
