// The device of a snippet's work: seeding, waiting, and memory; and the default data type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace instr
