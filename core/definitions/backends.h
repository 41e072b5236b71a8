// The backends: one entry for each way in which a definition is run. Keys, options, expansion,
// generated code and the choice of a zygote are derived from this table.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/definitions/languages.h"

namespace instr {

enum class Backend {
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

// The change to a TorchScript module before it runs, in C++ only.
enum class Preparation { kNone, kFreeze, kOptimize, kFuse, kDoNotFuse };

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

struct BackendFacts {
  Backend backend;
  const char* name;   // in keys and options
  const char* title;  // as shown to people
  Body body = Body::kScript;
  Preparation preparation = Preparation::kNone;
  bool is_usual = false;  // measured without --backend
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
  // Of torch.compile(), which is passed the backend of this name, or the backend's.
  const char* torch_backend = nullptr;
  const char* mode = nullptr;
  const char* options = nullptr;  // an expression of Python
  // The header of LibTorch that its units include, and that needs those of CUDA's toolkit.
  const char* cuda_header = nullptr;
};

// A backend of torch.compile().
constexpr BackendFacts compiled_by(Backend backend, const char* name, const char* title,
                                   const char* device = nullptr) {
  BackendFacts facts{.backend = backend, .name = name, .title = title};
  facts.body = Body::kCompiled;
  facts.device = device;
  facts.libtorch = ">=2.0";
  return facts;
}

// One that these packages bring along.
constexpr BackendFacts compiled_by_package(Backend backend, const char* name, const char* title,
                                           const char* packages) {
  BackendFacts facts = compiled_by(backend, name, title);
  facts.packages = packages;
  return facts;
}

// What PyTorch/XLA runs on the CPU.
constexpr BackendFacts on_xla(Body body, Backend backend, const char* name, const char* title) {
  BackendFacts facts = compiled_by_package(backend, name, title, "torch_xla>=2.7");
  facts.body = body;
  facts.libtorch = ">=2.7";
  facts.is_on_xla = true;
  facts.device = "cpu";
  return facts;
}

// Its graphs have the parameters as constants. It would compute in bfloat16 whatever the type where
// the processor is good at that.
constexpr BackendFacts open_vino() {
  BackendFacts facts = compiled_by_package(Backend::kOpenVino, "openvino", "OpenVINO", "openvino");
  facts.keeps_gradients = false;
  facts.device = "cpu";
  facts.options = "{\"aot_autograd\": True, \"config\": {\"INFERENCE_PRECISION_HINT\": \"f32\"}}";
  return facts;
}

// A later torch only has a placeholder for it, and a later onnxscript does not export for it.
constexpr BackendFacts onnx_runtime() {
  BackendFacts facts = compiled_by_package(Backend::kOnnxRuntime, "onnxrt", "ONNX Runtime",
                                           "onnxruntime-training onnxscript<0.4");
  facts.libtorch = ">=2.1,<2.9";
  return facts;
}

// Inductor in a mode of its own.
constexpr BackendFacts inductor_in(const char* mode, Backend backend, const char* name,
                                   const char* title, const char* device = nullptr) {
  BackendFacts facts = compiled_by(backend, name, title, device);
  facts.torch_backend = "inductor";
  facts.mode = mode;
  return facts;
}

// In the order of reports, the plainest first.
inline constexpr auto kBackends = std::to_array<BackendFacts>(
    {{.backend = Backend::kEager,
      .name = "eager",
      .title = "eager",
      .body = Body::kStatement,
      .is_usual = true},
     {.backend = Backend::kTorchScript,
      .name = "torchscript",
      .title = "TorchScript",
      .is_usual = true},
     {.backend = Backend::kFrozen,
      .name = "frozen",
      .title = "frozen",
      .preparation = Preparation::kFreeze,
      .keeps_gradients = false},
     {.backend = Backend::kOptimized,
      .name = "optimized",
      .title = "optimized",
      .preparation = Preparation::kOptimize,
      .keeps_gradients = false},
     {.backend = Backend::kFused,
      .name = "fused",
      .title = "fused",
      .preparation = Preparation::kFuse},
     {.backend = Backend::kUnfused,
      .name = "unfused",
      .title = "unfused",
      .preparation = Preparation::kDoNotFuse},
     {.backend = Backend::kTraced, .name = "traced", .title = "traced", .body = Body::kTraced},
     {.backend = Backend::kAoti,
      .name = "aoti",
      .title = "AOTInductor",
      .body = Body::kPackage,
      .keeps_gradients = false,
      .libtorch = ">=2.6"},
     {.backend = Backend::kCudaGraph,
      .name = "cuda_graph",
      .title = "CUDA graph",
      .body = Body::kCapturedScript,
      .keeps_gradients = false,
      .device = "cuda",
      .cuda_header = "ATen/cuda/CUDAGraph.h"},
     compiled_by(Backend::kInductor, "inductor", "Inductor"),
     inductor_in("max-autotune", Backend::kInductorMaxAutotune, "inductor_max_autotune",
                 "Inductor autotuned"),
     inductor_in("reduce-overhead", Backend::kInductorCudaGraphs, "inductor_cudagraphs",
                 "Inductor cudagraphs", "cuda"),
     compiled_by(Backend::kAotEager, "aot_eager", "AOT eager"),
     compiled_by(Backend::kCudaGraphs, "cudagraphs", "cudagraphs", "cuda"),
     on_xla(Body::kLazy, Backend::kXla, "xla", "XLA"),
     on_xla(Body::kCompiled, Backend::kOpenXla, "openxla", "OpenXLA"),
     open_vino(),
     compiled_by_package(Backend::kTvm, "tvm", "TVM", "apache-tvm"),
     onnx_runtime()});

constexpr const BackendFacts& facts_of(Backend backend) {
  return kBackends[static_cast<std::size_t>(backend)];
}

// The backends measured unless others are requested.
inline const std::vector<Backend> kUsualBackends = [] {
  std::vector<Backend> usual;
  for (const BackendFacts& one : kBackends) {
    if (one.is_usual) usual.push_back(one.backend);
  }
  return usual;
}();

constexpr const char* to_string(Backend backend) { return facts_of(backend).name; }
std::optional<Backend> find_backend(const std::string& name);

// Whether it runs something that is prepared first: a script, a package, a compiled function. Not
// eager.
constexpr bool is_script(Backend backend) { return facts_of(backend).body != Body::kStatement; }

// Whether torch.compile() makes that.
constexpr bool is_of_torch_compile(Backend backend) {
  return facts_of(backend).body == Body::kCompiled;
}

// Whether a compiler other than TorchScript's makes that, which takes long.
constexpr bool is_compiled(Backend backend) {
  return is_of_torch_compile(backend) || facts_of(backend).body == Body::kLazy;
}

// Returns true if the backend runs snippets in this language.
constexpr bool runs_in(Backend backend, Language language) {
  const BackendFacts& facts = facts_of(backend);
  switch (facts.body) {
    case Body::kStatement: return true;
    case Body::kScript:
      return language == Language::kCpp || facts.preparation == Preparation::kNone;
    case Body::kPackage:
    case Body::kCapturedScript: return language == Language::kCpp;
    case Body::kTraced:
    case Body::kCompiled:
    case Body::kLazy: return language == Language::kPython;
  }
  return false;
}

// The requirements of its packages: "onnxscript<0.4".
std::vector<std::string> packages_of(Backend backend);

bool runs_on(Backend backend, const std::string& device);

}  // namespace instr
