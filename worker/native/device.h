// The device on which a snippet's work is done: its generators, waiting for it, and its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace instr {

// The reason why snippets cannot run on this device ("cpu", "cuda"); nothing if they can.
std::optional<std::string> unusable_reason(const std::string& device);

// Seeds its generators with 0. Does nothing for "cpu", which torch_side::prepare() seeds.
void seed(const std::string& device);

// Waits until all work queued on it is done. Does nothing for "cpu".
void wait_for(const std::string& device);

// Highest number of bytes that LibTorch's allocator had in use on the device since reset_peak();
// nothing on the CPU, or if LibTorch (before 2.9) does not report it.
void reset_peak(const std::string& device);
std::optional<std::uint64_t> peak_bytes(const std::string& device);

}  // namespace instr
