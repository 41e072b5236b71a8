#include "core/compile/toolchain.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "core/base/checkout_guard.h"
#include "core/base/environment.h"
#include "core/base/process.h"
#include "core/base/text.h"

namespace instr {

namespace {

constexpr int kMinClang = 14;
constexpr int kMaxClang = 30;  // searched for by name
constexpr int kMinGcc = 10;

std::optional<fs::path> find_on_path(const std::string& name) {
  auto program = find_program(name);
  if (!program || ::access(program->c_str(), X_OK) != 0) return std::nullopt;
  return fs::absolute(*program);
}

// Returns the first number after `word`.
int find_number_after(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  if (at == std::string_view::npos) return 0;
  at = text.find_first_of("0123456789", at + word.size());
  return at == std::string_view::npos ? 0 : std::atoi(std::string(text.substr(at, 6)).c_str());
}

// "g++ (Debian 12.2.0-14+deb12u1) 12.2.0" -> 12: the number after the vendor's parenthesis.
int find_gcc_major(const std::string& version) {
  return find_number_after(version, version.find(')') == std::string::npos ? "" : ")");
}

struct Compiler {
  fs::path path;
  std::string version;
  bool is_clang = false;
  int major = 0;
};

// Runs `path --version`. Returns nothing if the output is not a compiler's; an error if it cannot
// run.
Expected<std::optional<Compiler>> probe_compiler(const fs::path& path) {
  SpawnOptions options;
  options.argv = {path.string(), "--version"};
  TRY_ASSIGN(auto result, run_command(options));
  Compiler compiler;
  compiler.path = path;
  compiler.version = result.output.substr(0, result.output.find('\n'));
  compiler.is_clang = compiler.version.find("clang") != std::string::npos;
  compiler.major = compiler.is_clang ? find_number_after(compiler.version, "version")
                                     : find_gcc_major(compiler.version);
  if (result.exit_code != 0 || compiler.major == 0) return std::nullopt;
  return compiler;
}

bool is_new_enough(const Compiler& compiler) {
  return compiler.major >= (compiler.is_clang ? kMinClang : kMinGcc);
}

Expected<Compiler> find_requested_compiler(const std::string& name) {
  auto path = find_on_path(name);
  if (!path) {
    return fail("the compiler '" + name + "' was not found",
                "give --compiler the name or full path of clang++ (14 or newer) or g++");
  }
  TRY_ASSIGN(auto compiler, probe_compiler(*path));
  if (!compiler) {
    return fail("'" + path->string() + "' does not answer --version as a C++ compiler would");
  }
  if (!is_new_enough(*compiler)) {
    return fail("the compiler '" + name + "' is too old: " + compiler->version,
                "clang++ 14 or g++ 10 are the oldest that LibTorch's headers work with");
  }
  return *compiler;
}

Expected<std::optional<Compiler>> find_best_compiler() {
  std::vector<std::string> names{"clang++"};
  for (int major = kMaxClang; major >= kMinClang; --major) {
    names.push_back("clang++-" + std::to_string(major));
  }
  names.push_back("g++");
  for (const auto& name : names) {
    auto path = find_on_path(name);
    if (!path) continue;
    // A compiler that cannot be run now may have made earlier results, so it is not skipped.
    TRY_ASSIGN(auto compiler, probe_compiler(*path));
    if (compiler && is_new_enough(*compiler)) return compiler;
  }
  return std::nullopt;
}

// clang before 16 rejects std::vector of an incomplete type in C++20, which the headers of older
// LibTorches have; those headers are C++17, so they are compiled as C++17.
std::string choose_standard(const Compiler& compiler, const LibTorch& torch) {
  int major = std::atoi(torch.version.c_str());
  int minor = find_number_after(torch.version, ".");
  bool is_recent = major > 2 || (major == 2 && minor >= 13);
  return compiler.is_clang && compiler.major < 16 && !is_recent ? "-std=c++17" : "-std=c++20";
}

// Flags that keep a snippet's code the same whatever else is in its unit. g++ decides about
// inlining and specialisation by the whole unit (how often a function is called and with which
// arguments, the cost of its out-of-line copy); so all inlining is left to its early inliner, which
// looks only at one function and its callees, with higher limits than usual.
std::vector<std::string> snippet_flags(bool is_clang) {
  if (is_clang) return {"-fvisibility=hidden"};
  return {"-fvisibility=hidden",
          "-fno-ipa-icf",
          "-fno-ipa-cp",
          "-fno-ipa-sra",
          "-fno-ipa-ra",
          "-fno-ipa-bit-cp",
          "-fno-ipa-vrp",
          "-fno-ipa-profile",
          "-fno-partial-inlining",
          "-fno-devirtualize-speculatively",
          "-fno-inline-functions-called-once",
          "-fno-gnu-unique",
          "--param=max-inline-insns-single=0",
          "--param=max-inline-insns-auto=0",
          "--param=max-inline-insns-small=0",
          "--param=max-inline-insns-size=0",
          "--param=early-inlining-insns=30",
          "--param=max-early-inliner-iterations=5",
          "--param=comdat-sharing-probability=100",
          "--param=inline-unit-growth=100000",
          "--param=large-unit-insns=1000000000"};
}

// `special`: inserted before the flags that LibTorch's headers need.
std::vector<std::string> compile_flags(const Compiler& compiler, const LibTorch& torch,
                                       const std::vector<std::string>& special) {
  std::vector<std::string> flags{choose_standard(compiler, torch), "-O2", "-fPIC"};
  flags.insert(flags.end(), special.begin(), special.end());
  for (const auto& define : torch.defines) flags.push_back("-D" + define);
  for (const auto& folder : torch.include_dirs) {
    flags.push_back("-isystem");
    flags.push_back(folder.string());
  }
  // Not -isystem, as it may be the system's folder.
  if (torch.cuda_headers) flags.push_back("-I" + torch.cuda_headers->string());
  // For __FILE__ in LibTorch's messages: its length would affect the addresses of data.
  flags.push_back("-fmacro-prefix-map=" + torch.root.string() + "=" + kLibraryLink);
  return flags;
}

std::vector<std::string> linker_flags(const LibTorch& torch) {
  std::vector<std::string> flags{"-L" + torch.library_dir.string()};
  for (const auto& library : torch.libraries) flags.push_back("-l" + library);
  flags.push_back("-Wl,-rpath-link," + torch.library_dir.string());
  flags.push_back("-Wl,-rpath,/proc/self/cwd/" + std::string(kLibraryLink));
  return flags;
}

constexpr const char* kVariable = "INSTR_BENCH_VALGRIND";
constexpr const char* kAdvice =
    "install it: apt-get install valgrind; without root: conda install -c conda-forge valgrind, or "
    "unpack the package and name it by INSTR_BENCH_VALGRIND (INSTALLING.md)";

// Returns the first of these folders below the program's prefix that contains `file`; empty: none.
fs::path find_below_prefix(const fs::path& program, std::initializer_list<const char*> folders,
                           const char* file) {
  std::error_code ignored;
  const fs::path prefix = fs::absolute(program).parent_path().parent_path();
  for (const char* folder : folders) {
    if (fs::exists(prefix / folder / file, ignored)) return prefix / folder;
  }
  return {};
}

}  // namespace

Expected<bool> has_compiler() {
  TRY_ASSIGN(const auto compiler, find_best_compiler());
  return compiler.has_value();
}

Expected<void> check_compiler(const Toolchain& toolchain) {
  if (!toolchain.compiler.empty()) return {};
  return fail(std::string(kNoCompiler) + ": neither clang++ (14 or newer) nor g++ (10 or newer)",
              std::string("install one (") + kInstallCompiler + "), or name one with --compiler");
}

Expected<Toolchain> find_toolchain(const std::optional<std::string>& requested,
                                   const LibTorch& libtorch) {
  Compiler compiler;
  if (requested) {
    TRY_ASSIGN(compiler, find_requested_compiler(*requested));
  } else {
    TRY_ASSIGN(const auto best, find_best_compiler());
    if (!best) return Toolchain{.version = "none"};
    compiler = *best;
  }
  TRY(check_measured("the compiler", compiler.path));
  Toolchain toolchain;
  toolchain.compiler = compiler.path;
  toolchain.is_clang = compiler.is_clang;
  toolchain.version = compiler.version;
  toolchain.flags = compile_flags(compiler, libtorch, snippet_flags(compiler.is_clang));
  toolchain.user_flags = compile_flags(compiler, libtorch, {});
  toolchain.link_flags = linker_flags(libtorch);
  return toolchain;
}

Expected<Valgrind> find_valgrind(const std::optional<std::string>& requested) {
  Valgrind valgrind;
  const auto named = requested ? requested : variable_value(kVariable);
  const auto program = find_program(named.value_or("valgrind"));
  if (!program && !named) return fail("Valgrind was not found", kAdvice);
  if (!program) {
    return fail(std::string(requested ? "--valgrind" : kVariable) + " names `" + *named +
                    "`, which is no program",
                "name the program itself, such as ~/valgrind/usr/bin/valgrind");
  }
  if (named) {
    valgrind.program = fs::absolute(*program);
    valgrind.tools = find_below_prefix(
        *program, {"libexec/valgrind", "lib/valgrind", "lib64/valgrind"}, "default.supp");
    valgrind.headers = find_below_prefix(*program, {"include"}, "valgrind/callgrind.h");
  }
  if (const auto tools = variable_value("VALGRIND_LIB")) valgrind.tools = *tools;
  SpawnOptions spawn;
  spawn.argv = {valgrind.program.string(), "--version"};
  if (!valgrind.tools.empty()) {
    spawn.environment = own_environment({{"VALGRIND_LIB", valgrind.tools.string()}});
  }
  TRY_ASSIGN(auto result, run_command(spawn));
  if (result.exit_code != 0) return fail("Valgrind does not run: " + result.errors, kAdvice);
  valgrind.version = trim_end(result.output, "\n");
  return valgrind;
}

}  // namespace instr
