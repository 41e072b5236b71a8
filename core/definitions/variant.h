// One measurable thing: a definition at one point of parameters x runtime x autograd x threads x
// device, with all its texts final.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/definitions/definition.h"

namespace instr {

// How a definition is run: its statement, or its TorchScript body in one of these ways.
enum class Runtime {
  kEager,
  kTorchScript,
  kFrozen,     // torch::jit::freeze
  kOptimized,  // torch::jit::optimize_for_inference
  kFused,      // with the tensor-expression fuser, on the CPU too
  kUnfused,    // without it
  kAoti,       // the definition's AOTInductor package
  kCudaGraph,  // captured once, replayed
};
enum class Autograd { kForward, kForwardBackward };

// All, with their names in keys and how people call them.
struct RuntimeName {
  Runtime runtime;
  const char* name;
  const char* title;
};
inline constexpr std::array<RuntimeName, 8> kRuntimes{
    {{Runtime::kEager, "eager", "eager"},
     {Runtime::kTorchScript, "torchscript", "TorchScript"},
     {Runtime::kFrozen, "frozen", "frozen"},
     {Runtime::kOptimized, "optimized", "optimized"},
     {Runtime::kFused, "fused", "fused"},
     {Runtime::kUnfused, "unfused", "unfused"},
     {Runtime::kAoti, "aoti", "AOTInductor"},
     {Runtime::kCudaGraph, "cuda_graph", "CUDA graph"}}};

const char* to_string(Runtime runtime);    // "eager", "torchscript", ...
const char* to_string(Autograd autograd);  // "forward", "forward_backward"
std::optional<Runtime> runtime_from(const std::string& name);

// What runs the TorchScript body or, with that compiled beforehand, a package. Not eager.
bool is_script(Runtime runtime);

// Parameters of a frozen module or of a package are constants: there is nothing to differentiate
// by; and a captured graph replays what it computed forward.
bool keeps_gradients(Runtime runtime);

bool runs_on(Runtime runtime, const std::string& device);

struct Variant {
  std::string key;  // "matmul/mm/n=64/eager/forward/t1/cpu": the one join key of the program
  std::string label;
  std::vector<std::pair<std::string, std::string>> params;
  Runtime runtime = Runtime::kEager;
  Autograd autograd = Autograd::kForward;
  int threads = 1;
  std::string device = "cpu";

  // Of the definition, with the parameters put in.
  std::string description;
  SourceLocation where;
  std::optional<Text> global_setup;
  std::vector<Text> setups;
  std::optional<Text> stmt;
  std::optional<Text> torchscript;
  std::optional<Text> module;
  std::optional<Text> package;
  std::optional<Signature> signature;
  std::optional<std::string> reduce;
  bool is_explicit = false;
  std::optional<std::string> libtorch;
  std::map<std::string, std::string> limits;
  Tolerance tolerance;
  std::vector<std::string> tags;
  std::optional<int> warmup;
  std::optional<int> iterations;
  std::optional<double> timeout;
  std::shared_ptr<const BuildOptions> build;
};

// What a key alone tells: LABEL/PARAMETER=VALUE/.../RUNTIME/AUTOGRAD/tTHREADS/DEVICE, as far as no
// value has a slash. One that is not of that form has a key and a label.
Variant variant_of_key(const std::string& key);

}  // namespace instr
