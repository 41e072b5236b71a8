#include "core/compile/language_support.h"

#include <iterator>
#include <utility>

namespace instr {

Expected<CompiledVariants> LanguageSupport::compile_all(const std::vector<Variant>& variants,
                                                        Purpose purpose, std::stop_token stop) {
  CompiledVariants compiled;
  TRY(compile(
      variants, purpose, [&compiled](const UnitResult& unit) { compiled.add(unit); }, stop));
  return compiled;
}

std::string list_symbols(
    const Variant& variant,
    const std::function<std::string(const Variant& variant, Purpose purpose)>& symbol_of) {
  std::string symbols = symbol_of(variant, Purpose::kMeasure);
  if (!is_candidate(variant)) return symbols;
  const Variant eager = make_eager(variant);
  for (const auto& symbol :
       {symbol_of(eager, Purpose::kMeasure), symbol_of(eager, Purpose::kVerify),
        symbol_of(variant, Purpose::kVerify)}) {
    symbols += "\n" + symbol;
  }
  return symbols;
}

Languages make_languages(const std::optional<std::string>& python, const CompileOptions& options,
                         Cache& cache) {
  Languages languages;
  for (const LanguageFacts& known : kLanguages) {
    auto& language = languages[static_cast<std::size_t>(known.language)];
    switch (known.language) {
      case Language::kCpp: language = make_cpp_language(options, cache); break;
      case Language::kPython: language = make_python_language(python, options, cache); break;
      case Language::kProgram: language = make_program_language(); break;
    }
  }
  return languages;
}

namespace {

// Returns the variables that choose code paths of LibTorch and its math libraries by CPU.
std::vector<std::string> code_paths(CpuClass cpu) {
  switch (cpu) {
    case CpuClass::kAvx2:
      return {"ATEN_CPU_CAPABILITY=avx2",     "MKL_CBWR=AVX2",
              "MKL_ENABLE_INSTRUCTIONS=AVX2", "OPENBLAS_CORETYPE=Haswell",
              "ONEDNN_MAX_CPU_ISA=AVX2",      "DNNL_MAX_CPU_ISA=AVX2"};
    case CpuClass::kPlain:
      return {"ATEN_CPU_CAPABILITY=default",    "MKL_CBWR=COMPATIBLE",
              "MKL_ENABLE_INSTRUCTIONS=SSE4_2", "OPENBLAS_CORETYPE=Nehalem",
              "ONEDNN_MAX_CPU_ISA=SSE41",       "DNNL_MAX_CPU_ISA=SSE41"};
  }
  return {};
}

}  // namespace

CpuClass cpu_class() {
  const bool has_all = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has_all ? CpuClass::kAvx2 : CpuClass::kPlain;
}

std::string pinned_march(CpuClass cpu) {
  return cpu == CpuClass::kAvx2 ? "TORCHINDUCTOR_CPP_MARCH=haswell"
                                : "TORCHINDUCTOR_CPP_MARCH=nehalem";
}

std::vector<std::string> pinned_environment(CpuClass cpu) {
  std::vector<std::string> environment{
      "PATH=/usr/bin:/bin",
      "LC_ALL=C",
      "TZ=UTC0",
      // The working folder by a name of fixed length. If `valgrind` is a shell script (Debian),
      // the shell sets it to the full path, unless it already names the folder.
      "PWD=/proc/self/cwd",
      // No CUDA device: once autograd or the generators have searched for devices, no forked
      // process can use CUDA, and LibTorch fails even when it only counts them.
      "CUDA_VISIBLE_DEVICES=",
  };
  for (auto& path : code_paths(cpu)) environment.push_back(std::move(path));
  environment.insert(environment.end(),
                     {
                         // Only the variant determines the threads; waiting ones do not spin.
                         "OMP_NUM_THREADS=1",
                         "MKL_NUM_THREADS=1",
                         "OPENBLAS_NUM_THREADS=1",
                         "OMP_DYNAMIC=FALSE",
                         "MKL_DYNAMIC=FALSE",
                         "OMP_WAIT_POLICY=passive",
                         "GOMP_SPINCOUNT=0",
                         "KMP_BLOCKTIME=0",
                         // The sizes at which memcpy and memset change their method, which
                         // otherwise depend on the machine's caches.
                         "GLIBC_TUNABLES=glibc.cpu.x86_data_cache_size=32768"
                         ":glibc.cpu.x86_shared_cache_size=1048576"
                         ":glibc.cpu.x86_non_temporal_threshold=786432"
                         ":glibc.cpu.x86_rep_movsb_threshold=2048"
                         ":glibc.cpu.x86_rep_stosb_threshold=2048",
                     });
  return environment;
}

}  // namespace instr
