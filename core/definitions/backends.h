// Two tables: the languages of snippets, and the backends. Keys, options, expansion, generated code
// and the choice of a zygote are derived from them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace instr {

enum class Language { kCpp, kPython, kProgram };

struct LanguageFacts {
  Language language;
  const char* name;  // the name in options, and the key of its text in [setups.NAME]
  const char* title;
  const char* example_setup;
  const char* example_stmt;
  const char* example_module;
};

// In the order of reports.
inline constexpr auto kLanguages =
    std::to_array<LanguageFacts>({{.language = Language::kCpp,
                                   .name = "cpp",
                                   .title = "C++",
                                   .example_setup = "auto x = torch::rand({4, 4});",
                                   .example_stmt = "x + y;",
                                   .example_module = "torch::nn::Linear(4, 2)"},
                                  {.language = Language::kPython,
                                   .name = "py",
                                   .title = "Python",
                                   .example_setup = "x = torch.rand((4, 4))",
                                   .example_stmt = "x + y",
                                   .example_module = "torch.nn.Linear(4, 2)"},
                                  // A whole program: no text of TOML is in this language.
                                  {.language = Language::kProgram,
                                   .name = "program",
                                   .title = "program",
                                   .example_setup = "",
                                   .example_stmt = "",
                                   .example_module = ""}});

constexpr const LanguageFacts& facts_of(Language language) {
  return kLanguages[static_cast<std::size_t>(language)];
}

inline const char* to_string(Language language) { return facts_of(language).name; }

inline std::optional<Language> find_language(std::string_view name) {
  for (const LanguageFacts& facts : kLanguages) {
    if (facts.name == name) return facts.language;
  }
  return std::nullopt;
}

// Returns a benchmark's key in this language: "stmt" in C++, "py_stmt" in Python.
inline std::string format_key(Language language, const char* key) {
  return language == Language::kCpp ? key : std::string(to_string(language)) + "_" + key;
}

// The backends: one entry for each way to run a definition. Keys, options, expansion, generated
// code and the choice of a zygote are derived from this table.

enum class Backend {
  kEager,
  kTorchScript,
  kFrozen,     // torch::jit::freeze
  kOptimized,  // torch::jit::optimize_for_inference
  kFused,      // tensor-expression fuser on, even on the CPU
  kUnfused,    // tensor-expression fuser off
  kTraced,     // torch.jit.trace of Python
  kAoti,       // the definition's AOTInductor package
  kCudaGraph,  // captured once, then replayed
  // torch.compile() with the backend of this name:
  kInductor,
  kInductorMaxAutotune,  // Inductor in the mode of this name
  kInductorCudaGraphs,
  kDynamo,  // torch.compile(backend="eager"): Dynamo's graphs, run by eager
  kAotEager,
  kCudaGraphs,  // no graphs on the CPU
  kXla,         // XLA's device, without torch.compile()
  kOpenXla,
  kOpenVino,
  kTvm,
  kTensorRt,
  kOnnxRuntime,
  kBest,  // the fastest of several for each graph
};

// The part of a definition that generated code runs.
enum class Body {
  kStatement,       // the statement as written
  kScript,          // the TorchScript body, as a module; what is prepared may be traced Python
  kTraced,          // the Python, traced to TorchScript
  kPackage,         // an AOTInductor package: the definition's, or one made of the Python
  kCapturedScript,  // the TorchScript module, captured on a device
  kCompiled,        // the Python, compiled by torch.compile()
  kLazy,            // the Python, on a device that records calls and compiles them
};

// The change to a TorchScript module before it runs.
enum class Preparation { kNone, kFreeze, kOptimize, kFuse, kDoNotFuse };

// The zygotes by their warm-up. Zygotes for Python start slowly, so kCompiler is one that has also
// imported what torch.compile() needs. First calls are counted in one that has called nothing, and
// the host side of CUDA in one that has initialized it.
enum class WarmUp {
  kEager,
  kTorchScript,
  kPython,
  kPythonTorchScript,
  kCompiler,
  kCold,
  kColdPython,
  kCuda,
  kTorchScriptCuda,
  kPythonCuda,
  kPythonTorchScriptCuda,
  kCompilerCuda
};

struct WarmUpFacts {
  const char* name;  // the name in the protocol of workers
  Language language;
};

// In the order of WarmUp.
inline constexpr auto kWarmUps =
    std::to_array<WarmUpFacts>({{"eager", Language::kCpp},
                                {"torchscript", Language::kCpp},
                                {"python", Language::kPython},
                                {"python_torchscript", Language::kPython},
                                {"compiler", Language::kPython},
                                {"cold", Language::kCpp},
                                {"cold_python", Language::kPython},
                                {"cuda", Language::kCpp},
                                {"torchscript_cuda", Language::kCpp},
                                {"python_cuda", Language::kPython},
                                {"python_torchscript_cuda", Language::kPython},
                                {"compiler_cuda", Language::kPython}});

constexpr const WarmUpFacts& facts_of(WarmUp zygote) {
  return kWarmUps[static_cast<std::size_t>(zygote)];
}

constexpr const char* to_string(WarmUp zygote) { return facts_of(zygote).name; }

// Returns true if forked processes start without instrumentation, under which compiling takes
// minutes.
constexpr bool instruments_late(WarmUp zygote) {
  return zygote == WarmUp::kCompiler || zygote == WarmUp::kCompilerCuda;
}

struct BackendFacts {
  Backend backend;
  const char* name;  // the name in keys and options
  const char* title;
  Body body = Body::kScript;
  Preparation preparation = Preparation::kNone;
  bool is_usual = false;  // measured without --backend
  // False if backward() cannot run: parameters of a frozen module or of a package are constants,
  // and a captured graph replays only its forward pass.
  bool keeps_gradients = true;
  const char* device = nullptr;    // the only device that it runs on; null: any
  const char* libtorch = nullptr;  // required versions; null: any
  // Python packages required besides torch, separated by spaces. Backends with such packages are
  // only timed: they have their own memory, which LibTorch does not see, and code for this
  // processor, which Valgrind may not support.
  const char* packages = nullptr;
  // Compiles with several backends and chooses by time: measured only when named, and only timed.
  bool is_chooser = false;
  bool is_on_xla = false;  // arguments are moved to XLA's device
  // Arguments of torch.compile().
  const char* torch_backend = nullptr;  // null: `name`
  const char* mode = nullptr;
  const char* options = nullptr;  // a Python expression
  bool is_fullgraph = false;
  // A function of this module is the backend; without a function, the module registers it.
  const char* module = nullptr;
  const char* function = nullptr;
  const char* cuda_header = nullptr;  // included by its units; needs the headers of CUDA's toolkit
};

// A backend of torch.compile().
constexpr BackendFacts make_compiled(Backend backend, const char* name, const char* title) {
  BackendFacts facts{.backend = backend, .name = name, .title = title};
  facts.body = Body::kCompiled;
  facts.libtorch = ">=2.0";
  return facts;
}

// The name "eager" is taken: it means no compiler.
constexpr BackendFacts make_dynamo() {
  BackendFacts facts = make_compiled(Backend::kDynamo, "dynamo", "Dynamo");
  facts.torch_backend = "eager";
  return facts;
}

// A backend of torch.compile() that comes with these packages.
constexpr BackendFacts make_packaged(Backend backend, const char* name, const char* title,
                                     const char* packages) {
  BackendFacts facts = make_compiled(backend, name, title);
  facts.packages = packages;
  return facts;
}

// A backend that PyTorch/XLA runs on the CPU.
constexpr BackendFacts make_xla(Body body, Backend backend, const char* name, const char* title) {
  BackendFacts facts = make_packaged(backend, name, title, "torch_xla>=2.7");
  facts.body = body;
  facts.libtorch = ">=2.7";
  facts.is_on_xla = true;
  facts.device = "cpu";
  return facts;
}

// OpenVINO's graphs hold the parameters as constants. Without the hint it computes in bfloat16,
// whatever the data type, on processors that support bfloat16 well.
constexpr BackendFacts make_openvino() {
  BackendFacts facts = make_packaged(Backend::kOpenVino, "openvino", "OpenVINO", "openvino");
  facts.keeps_gradients = false;
  facts.device = "cpu";
  facts.options = "{\"aot_autograd\": True, \"config\": {\"INFERENCE_PRECISION_HINT\": \"f32\"}}";
  return facts;
}

// Importing the package registers the backend.
constexpr BackendFacts make_tensorrt() {
  BackendFacts facts = make_packaged(Backend::kTensorRt, "tensorrt", "TensorRT", "torch-tensorrt");
  facts.device = "cuda";
  facts.module = "torch_tensorrt";
  return facts;
}

// Later versions of torch have only a placeholder for this backend, and later versions of
// onnxscript do not export for it.
constexpr BackendFacts make_onnx_runtime() {
  BackendFacts facts = make_packaged(Backend::kOnnxRuntime, "onnxrt", "ONNX Runtime",
                                     "onnxruntime-training onnxscript<0.4");
  facts.libtorch = ">=2.1,<2.9";
  return facts;
}

// For each graph the fastest of several backends, which instr_best.py chooses.
constexpr BackendFacts make_best() {
  BackendFacts facts = make_compiled(Backend::kBest, "best", "best per graph");
  facts.module = "instr_best";
  facts.function = "best";
  facts.is_chooser = true;
  return facts;
}

// Inductor in a particular mode.
constexpr BackendFacts make_inductor(const char* mode, Backend backend, const char* name,
                                     const char* title, const char* device = nullptr) {
  BackendFacts facts = make_compiled(backend, name, title);
  facts.torch_backend = "inductor";
  facts.mode = mode;
  facts.device = device;
  return facts;
}

// In the order of reports, the simplest first.
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
     make_compiled(Backend::kInductor, "inductor", "Inductor"),
     make_inductor("max-autotune", Backend::kInductorMaxAutotune, "inductor_max_autotune",
                   "Inductor autotuned"),
     make_inductor("reduce-overhead", Backend::kInductorCudaGraphs, "inductor_cudagraphs",
                   "Inductor cudagraphs", "cuda"),
     make_dynamo(),
     make_compiled(Backend::kAotEager, "aot_eager", "AOT eager"),
     make_compiled(Backend::kCudaGraphs, "cudagraphs", "cudagraphs"),
     make_xla(Body::kLazy, Backend::kXla, "xla", "XLA"),
     make_xla(Body::kCompiled, Backend::kOpenXla, "openxla", "OpenXLA"),
     make_openvino(),
     make_packaged(Backend::kTvm, "tvm", "TVM", "apache-tvm"),
     make_tensorrt(),
     make_onnx_runtime(),
     make_best()});

constexpr bool is_in_table(Backend backend) {
  return static_cast<std::size_t>(backend) < kBackends.size();
}

// A backend of torch.compile() that is not in the table: one that a package registers, or a
// function of a module.
struct OwnBackend {
  std::string name;           // "hidet" or "my_module:my_backend", as keys and options name it
  std::string module = {};    // imported first; empty: none
  std::string function = {};  // the backend, in the module; empty: the one registered as `name`
  std::string mode = {};      // arguments of torch.compile(), as in BackendFacts; empty: none
  std::string options = {};
  bool is_fullgraph = false;

  bool operator==(const OwnBackend&) const = default;
};

// Returns the facts of a backend in the table, or of one that find_backend() has made.
const BackendFacts& facts_of(Backend backend);

// The backends measured unless others are requested.
inline const std::vector<Backend> kUsualBackends = [] {
  std::vector<Backend> usual;
  for (const BackendFacts& facts : kBackends) {
    if (facts.is_usual) usual.push_back(facts.backend);
  }
  return usual;
}();

// All backends of the table that need not be named.
inline const std::vector<Backend> kAllBackends = [] {
  std::vector<Backend> all;
  for (const BackendFacts& facts : kBackends) {
    if (!facts.is_chooser) all.push_back(facts.backend);
  }
  return all;
}();

inline const char* to_string(Backend backend) { return facts_of(backend).name; }

// Returns the backend with this name. If it is not in the table, it is a backend of torch.compile()
// from now on in this process: MODULE:FUNCTION, or a name that torch.compile() knows or a
// definition explains. Nothing if it cannot be such a name. From any thread.
std::optional<Backend> find_backend(const std::string& name);

// Returns the backend with this name, or the error, without a place, that it cannot be a name.
Expected<Backend> parse_backend(const std::string& name);

// Explains the names of backends, until the next call. Before any work that depends on them.
void define_backends(const std::vector<OwnBackend>& backends);

// Returns true if the backend first prepares what it runs: a script, a package, a compiled
// function.
inline bool is_script(Backend backend) { return facts_of(backend).body != Body::kStatement; }

// Returns true if torch.compile() prepares it.
inline bool is_of_torch_compile(Backend backend) {
  return facts_of(backend).body == Body::kCompiled;
}

// Returns true if it runs an AOTInductor package.
inline bool runs_package(Backend backend) { return facts_of(backend).body == Body::kPackage; }

// Returns true if a compiler other than TorchScript's prepares it, which takes long.
inline bool is_compiled(Backend backend) {
  return is_of_torch_compile(backend) || facts_of(backend).body == Body::kLazy;
}

inline bool runs_in(Backend backend, Language language) {
  const BackendFacts& facts = facts_of(backend);
  switch (facts.body) {
    case Body::kStatement:
    case Body::kScript:
    case Body::kPackage: return true;
    case Body::kCapturedScript: return language == Language::kCpp;
    case Body::kTraced:
    case Body::kCompiled:
    case Body::kLazy: return language == Language::kPython;
  }
  return false;
}

// Returns the requirements of the backend's packages: "onnxscript<0.4".
std::vector<std::string> packages_of(Backend backend);

bool runs_on(Backend backend, const std::string& device);

}  // namespace instr
