// Decides which variants can be measured here, and why the others cannot. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compile/language_support.h"
#include "core/compile/libtorch.h"
#include "core/definitions/select.h"
#include "core/definitions/variant.h"
#include "core/run/config.h"

namespace instr {

struct Capabilities {
  const LibTorch& libtorch;
  bool wants_times;  // some variants can only be timed
};

// Returns whether Valgrind can count the variant: not on a GPU, nor in a package whose code it may
// not support, nor if the variant is too large. Of a variant on CUDA it counts the host side, if
// there is a stand-in.
bool is_countable(const Variant& variant, const std::optional<std::string>& stand_in);

// Returns the reason why a variant can be neither counted nor timed here; nothing if it can be.
std::optional<std::string> find_obstacle(const Variant& variant, const Capabilities& capabilities,
                                         const LanguageSupport& language);

// Leaves out the variants on CUDA, or in C++, if nothing here could run them: one line says so,
// instead of a skipped variant each. What only a worker can find out is left to the worker.

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

// A reason why some variants cannot run here.
struct Obstacle {
  bool (*concerns)(const Variant&);
  Error reason;              // an error without a place
  bool is_expected = false;  // has no line in the note
};

// The variants to measure, and those that are not planned.
struct RunnableVariants {
  std::vector<Variant> runnable;
  std::vector<Variant> left_out = {};
  std::vector<Error> reasons = {};  // one for each that is left out
  std::string note = {};  // a line for each obstacle: "no CUDA device: 24 variants left out"
};

// Leaves out the variants that an obstacle concerns. That is an error if no other variant is left,
// except in a shard, which may be empty.
Expected<RunnableVariants> leave_out(std::vector<Variant> variants,
                                     const std::vector<Obstacle>& obstacles, bool is_shard);

// The same with the obstacles on this machine: to CUDA, and to C++ without a compiler. That the
// shipped definitions have variants on CUDA is said only if the user asks for this device.
Expected<RunnableVariants> leave_out_unusable(std::vector<Variant> variants, const PlanConfig& plan,
                                              const ToolConfig& tools);

// Makes a predicate: a key is selected and is not left out. If a selected key has no result, its
// line in a file of expected values is outdated; a key that is left out says nothing about its
// line.
std::function<bool(const std::string& key)> make_run_selector(const Selection& selection,
                                                              const std::vector<Variant>& left_out);

}  // namespace instr
