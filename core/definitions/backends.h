// The runtimes: one entry for each way in which a definition is run. Keys, options, expansion,
// generated code and the choice of a zygote are derived from this table.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/languages.h"

namespace instr {

enum class Runtime {
  kEager,
  kTorchScript,
  kFrozen,     // torch::jit::freeze
  kOptimized,  // torch::jit::optimize_for_inference
  kFused,      // with the tensor-expression fuser, on the CPU too
  kUnfused,    // without it
  kTraced,     // torch.jit.trace of Python
  kAoti,       // the definition's AOTInductor package
  kCudaGraph,  // captured once, replayed
  // torch.compile() with the backend of this name.
  kInductor,
  kInductorMaxAutotune,  // with the mode of this name
  kInductorCudaGraphs,
  kAotEager,
  kCudaGraphs,
  kXla,  // as it is, on XLA's device
  kOpenXla,
  kOpenVino,
  kTvm,
  kOnnxRuntime,
};

// What generated code runs, which the definition must have.
enum class Body {
  kStatement,       // its C++
  kScript,          // its TorchScript body, as a module
  kTraced,          // its Python, as TorchScript that a call of it was traced to
  kPackage,         // its AOTInductor package
  kCapturedScript,  // that module's work, captured on a device
  kCompiled,        // its Python, as a function that torch.compile() has made
  kLazy,            // its Python, on a device that records what is called, and compiles that
};

// The zygotes, by their warm-up. Those of Python start slowly: one for what runs as it is, and one
// that has also imported what torch.compile() needs.
enum class WarmUp { kEager, kTorchScript, kPython, kCompiler };

// As the worker takes them; in the order of WarmUp.
inline constexpr auto kWarmUpNames =
    std::to_array<const char*>({"eager", "torchscript", "python", "compiler"});

constexpr const char* to_string(WarmUp zygote) {
  return kWarmUpNames[static_cast<std::size_t>(zygote)];
}

constexpr bool is_of_python(WarmUp zygote) {
  return zygote == WarmUp::kPython || zygote == WarmUp::kCompiler;
}

struct RuntimeFacts {
  Runtime runtime;
  const char* name;   // in keys and options
  const char* title;  // as shown to people
  Body body = Body::kScript;
  // Generated C++ that prepares the loaded module; null: it runs as it is.
  const char* preparation = nullptr;
  bool is_usual = false;  // measured without --runtime
  // Parameters of a frozen module or of a package are constants: there is nothing to differentiate
  // by; and a captured graph replays only its forward pass.
  bool keeps_gradients = true;
  const char* device = nullptr;    // the one that it runs on; null: any
  const char* libtorch = nullptr;  // the versions it needs; null: any
  // What its Python needs besides torch: requirements, as words. Such a package has memory of its
  // own, which LibTorch does not see, and code for this processor, which Valgrind may not support:
  // it is only timed.
  const char* packages = nullptr;
  bool is_on_xla = false;  // runs on XLA's device, where its arguments are moved
  // Of torch.compile(), which is passed the backend of this name, or the runtime's.
  const char* backend = nullptr;
  const char* mode = nullptr;
  const char* options = nullptr;  // an expression of Python
  // The header of LibTorch that its units include, and that needs those of CUDA's toolkit.
  const char* cuda_header = nullptr;
};

// A backend of torch.compile().
constexpr RuntimeFacts compiled_by(Runtime runtime, const char* name, const char* title,
                                   const char* device = nullptr) {
  RuntimeFacts facts{.runtime = runtime, .name = name, .title = title};
  facts.body = Body::kCompiled;
  facts.device = device;
  facts.libtorch = ">=2.0";
  return facts;
}

// One that these packages bring along.
constexpr RuntimeFacts compiled_by_package(Runtime runtime, const char* name, const char* title,
                                           const char* packages) {
  RuntimeFacts facts = compiled_by(runtime, name, title);
  facts.packages = packages;
  return facts;
}

// What PyTorch/XLA runs on the CPU.
constexpr RuntimeFacts on_xla(Body body, Runtime runtime, const char* name, const char* title) {
  RuntimeFacts facts = compiled_by_package(runtime, name, title, "torch_xla>=2.7");
  facts.body = body;
  facts.libtorch = ">=2.7";
  facts.is_on_xla = true;
  facts.device = "cpu";
  return facts;
}

// Its graphs have the parameters as constants. It would compute in bfloat16 whatever the type where
// the processor is good at that.
constexpr RuntimeFacts open_vino() {
  RuntimeFacts facts = compiled_by_package(Runtime::kOpenVino, "openvino", "OpenVINO", "openvino");
  facts.keeps_gradients = false;
  facts.device = "cpu";
  facts.options = "{\"aot_autograd\": True, \"config\": {\"INFERENCE_PRECISION_HINT\": \"f32\"}}";
  return facts;
}

// A later torch only has a placeholder for it, and a later onnxscript does not export for it.
constexpr RuntimeFacts onnx_runtime() {
  RuntimeFacts facts = compiled_by_package(Runtime::kOnnxRuntime, "onnxrt", "ONNX Runtime",
                                           "onnxruntime-training onnxscript<0.4");
  facts.libtorch = ">=2.1,<2.9";
  return facts;
}

// Inductor in a mode of its own.
constexpr RuntimeFacts inductor_in(const char* mode, Runtime runtime, const char* name,
                                   const char* title, const char* device = nullptr) {
  RuntimeFacts facts = compiled_by(runtime, name, title, device);
  facts.backend = "inductor";
  facts.mode = mode;
  return facts;
}

// In the order of reports, the plainest first.
inline constexpr auto kRuntimes = std::to_array<RuntimeFacts>(
    {{.runtime = Runtime::kEager,
      .name = "eager",
      .title = "eager",
      .body = Body::kStatement,
      .is_usual = true},
     {.runtime = Runtime::kTorchScript,
      .name = "torchscript",
      .title = "TorchScript",
      .is_usual = true},
     {.runtime = Runtime::kFrozen,
      .name = "frozen",
      .title = "frozen",
      .preparation = "instr_script_ = instr_support::frozen(instr_script_);",
      .keeps_gradients = false},
     {.runtime = Runtime::kOptimized,
      .name = "optimized",
      .title = "optimized",
      .preparation = "instr_script_ = instr_support::optimized(instr_script_);",
      .keeps_gradients = false},
     {.runtime = Runtime::kFused,
      .name = "fused",
      .title = "fused",
      .preparation = "instr_support::set_fuser(true);"},
     {.runtime = Runtime::kUnfused,
      .name = "unfused",
      .title = "unfused",
      .preparation = "instr_support::set_fuser(false);"},
     {.runtime = Runtime::kTraced, .name = "traced", .title = "traced", .body = Body::kTraced},
     {.runtime = Runtime::kAoti,
      .name = "aoti",
      .title = "AOTInductor",
      .body = Body::kPackage,
      .keeps_gradients = false,
      .libtorch = ">=2.6"},
     {.runtime = Runtime::kCudaGraph,
      .name = "cuda_graph",
      .title = "CUDA graph",
      .body = Body::kCapturedScript,
      .keeps_gradients = false,
      .device = "cuda",
      .cuda_header = "ATen/cuda/CUDAGraph.h"},
     compiled_by(Runtime::kInductor, "inductor", "Inductor"),
     inductor_in("max-autotune", Runtime::kInductorMaxAutotune, "inductor_max_autotune",
                 "Inductor autotuned"),
     inductor_in("reduce-overhead", Runtime::kInductorCudaGraphs, "inductor_cudagraphs",
                 "Inductor cudagraphs", "cuda"),
     compiled_by(Runtime::kAotEager, "aot_eager", "AOT eager"),
     compiled_by(Runtime::kCudaGraphs, "cudagraphs", "cudagraphs", "cuda"),
     on_xla(Body::kLazy, Runtime::kXla, "xla", "XLA"),
     on_xla(Body::kCompiled, Runtime::kOpenXla, "openxla", "OpenXLA"),
     open_vino(),
     compiled_by_package(Runtime::kTvm, "tvm", "TVM", "apache-tvm"),
     onnx_runtime()});

constexpr const RuntimeFacts& facts_of(Runtime runtime) {
  return kRuntimes[static_cast<std::size_t>(runtime)];
}

// The runtimes measured unless others are requested.
inline const std::vector<Runtime> kUsualRuntimes = [] {
  std::vector<Runtime> usual;
  for (const RuntimeFacts& one : kRuntimes) {
    if (one.is_usual) usual.push_back(one.runtime);
  }
  return usual;
}();

constexpr const char* to_string(Runtime runtime) { return facts_of(runtime).name; }
std::optional<Runtime> runtime_from(const std::string& name);

// Whether it runs something that is prepared first: a script, a package, a compiled function. Not
// eager.
constexpr bool is_script(Runtime runtime) { return facts_of(runtime).body != Body::kStatement; }

// Whether torch.compile() makes that.
constexpr bool is_of_torch_compile(Runtime runtime) {
  return facts_of(runtime).body == Body::kCompiled;
}

// Whether a compiler other than TorchScript's makes that, which takes long.
constexpr bool is_compiled(Runtime runtime) {
  return is_of_torch_compile(runtime) || facts_of(runtime).body == Body::kLazy;
}

// Returns true if the runtime runs snippets in this language.
constexpr bool runs_in(Runtime runtime, Language language) {
  const RuntimeFacts& facts = facts_of(runtime);
  switch (facts.body) {
    case Body::kStatement: return true;
    case Body::kScript: return language == Language::kCpp || facts.preparation == nullptr;
    case Body::kPackage:
    case Body::kCapturedScript: return language == Language::kCpp;
    case Body::kTraced:
    case Body::kCompiled:
    case Body::kLazy: return language == Language::kPython;
  }
  return false;
}

// The requirements of its packages: "onnxscript<0.4".
std::vector<std::string> packages_of(Runtime runtime);

bool runs_on(Runtime runtime, const std::string& device);

}  // namespace instr
