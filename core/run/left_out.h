// Leaves out the variants on CUDA if nothing here could run them: one line says so, instead of a
// skipped variant each. What only a worker can find out is left to the worker.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/select.h"
#include "core/definitions/variant.h"
#include "core/run/config.h"

namespace instr {

// Traces of CUDA on this machine that can be read without loading CUDA.
struct CudaTraces {
  std::vector<std::string> device_files = {};       // names in /dev
  bool can_create_files = false;                    // nvidia-modprobe does so on first use
  std::optional<std::string> visible_devices = {};  // CUDA_VISIBLE_DEVICES
};

CudaTraces read_cuda_traces();

// Returns true if LibTorch cannot find a CUDA device, and false if it may find one.
bool has_no_cuda_device(const CudaTraces& traces);

// Returns the reason why this LibTorch cannot run anything on CUDA, if there is one. Looks for
// LibTorch only if there may be a device.
Expected<std::optional<Error>> find_cuda_obstacle(const CudaTraces& traces,
                                                  const ToolConfig& tools);

// The variants to measure, and those that are not planned.
struct RunnableVariants {
  std::vector<Variant> runnable;
  std::vector<Variant> left_out = {};
  Error obstacle = {};  // the reason; without a place

  // Returns the line "no CUDA device: 24 variants left out"; empty if none is left out.
  std::string note() const;
};

// Leaves out the variants on CUDA if there is an obstacle. That is an error if no other variant is
// left, except in a shard, which may be empty.
Expected<RunnableVariants> leave_out_cuda(std::vector<Variant> variants,
                                          const std::optional<Error>& obstacle, bool is_shard);

// The same with the obstacle on this machine, if one of the variants is on CUDA.
Expected<RunnableVariants> leave_out_unusable(std::vector<Variant> variants,
                                              const ToolConfig& tools, bool is_shard = false);

// Makes a predicate: a key is selected and is not left out. If a selected key has no result, its
// line in a file of expected values is outdated; a key that is left out says nothing about its
// line.
std::function<bool(const std::string& key)> make_run_selector(const Selection& selection,
                                                              const std::vector<Variant>& left_out);

}  // namespace instr
