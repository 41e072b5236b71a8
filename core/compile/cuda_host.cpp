#include "core/compile/cuda_host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/compile/elf.h"

namespace instr {

namespace {

// A library whose functions are known by a prefix, with its code for "not supported".
struct KnownLibrary {
  std::string_view name;    // the part of the soname between "lib" and ".so"
  std::string_view prefix;  // the prefix of functions that have no version
  int error;
  std::string_view source;  // a file of worker/cuda_host; empty: all functions are stubs
};

constexpr KnownLibrary kKnownLibraries[] = {
    {"cublas", "cublas", 15, "cublas.cpp"},
    {"cublasLt", "cublasLt", 15, "cublaslt.cpp"},
    {"cuda", "cu", 801, "driver.cpp"},
    {"cudart", "cuda", 801, "cudart.cpp"},
    {"cudnn", "cudnn", 3000, "cudnn.cpp"},
    {"cufft", "cufft", 16, "cufft.cpp"},
    {"cufile", "cuFile", 5001, ""},
    {"cupti", "cupti", 27, ""},
    {"curand", "curand", 201, ""},
    {"cusolver", "cusolver", 9, "cusolver.cpp"},
    {"cusparse", "cusparse", 10, "cusparse.cpp"},
    {"cusparseLt", "cusparseLt", 10, ""},
    {"nccl", "nccl", 5, ""},
    {"nvJitLink", "nvJitLink", 6, ""},
    {"nvrtc", "nvrtc", 11, "nvrtc.cpp"},
    {"nvshmem_host", "nvshmem", -1, ""},
    {"nvToolsExt", "nvtx", -1, ""},
};

// Returns the library of a soname, "libcudart.so.13" or, in LibTorch's archives,
// "libcudart-c3a75b33.so.12"; null if it is not one of CUDA's.
const KnownLibrary* find_known(const std::string& soname) {
  static const std::regex form(R"(lib(\w+?)(-[0-9a-f]{8})?\.so(\.\d+)*)");
  std::smatch parts;
  if (!std::regex_match(soname, parts, form)) return nullptr;
  const auto* const it =
      std::find_if(std::begin(kKnownLibraries), std::end(kKnownLibraries),
                   [&](const KnownLibrary& library) { return library.name == parts.str(1); });
  return it != std::end(kKnownLibraries) ? it : nullptr;
}

// Returns the soname of the library that defines a function without a version: the one among those
// needed with the longest matching prefix. Empty if none matches.
std::string find_owner(const std::string& function, const std::vector<std::string>& needed) {
  std::string owner;
  std::size_t longest = 0;
  for (const std::string& soname : needed) {
    const KnownLibrary* const library = find_known(soname);
    if (library == nullptr || !function.starts_with(library->prefix)) continue;
    if (library->prefix.size() <= longest) continue;
    longest = library->prefix.size();
    owner = soname;
  }
  return owner;
}

using LibraryMap = std::map<std::string, std::pair<std::string, std::set<std::string>>>;

// Adds what a shared object needs to the libraries, which are keyed by soname.
void add_needs(const Imports& imports, LibraryMap& libraries) {
  for (const std::string& soname : imports.libraries)
    if (find_known(soname) != nullptr) libraries[soname];
  for (const Import& import : imports.symbols) {
    const std::string soname =
        import.library.empty() ? find_owner(import.name, imports.libraries) : import.library;
    if (find_known(soname) == nullptr) continue;
    auto& [version, functions] = libraries[soname];
    if (!import.version.empty()) version = import.version;
    functions.insert(import.name);
  }
}

// The version that cuDNN's stand-in has if LibTorch does not say which it was built for.
constexpr int kUsualCudnn = 92400;

bool returns_text(const std::string& function) {
  static const std::regex form("(cudnn|cusparse|nccl|nvrtc)Get(ErrorString|LastError)");
  return std::regex_match(function, form);
}

// Returns the name of a stand-in's file. If torch's Python package sees a file named libcudart.so
// among those loaded, it loads NVIDIA's packages as well, if they are installed.
std::string find_file_name(const std::string& soname) {
  return soname.starts_with("libcudart") ? soname.substr(std::string_view("lib").size()) : soname;
}

// Compiles and links a shared object from these sources and arguments.
Expected<fs::path> link(const CudaHostBuild& build, const CudaVersions& versions,
                        const std::string& soname, const std::vector<std::string>& arguments,
                        std::stop_token stop) {
  const fs::path library = build.folder / find_file_name(soname);
  SpawnOptions spawn;
  spawn.argv = {
      build.compiler.string(), "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden",
      "-ftls-model=initial-exec",
      // A loop that copies stays a loop: a call would count as the caller's C library.
      "-fno-builtin", "-fno-exceptions", "-fno-rtti", "-I" + build.sources.string(),
      fmt::format("-DINSTR_CUDA_VERSION={}", versions.cuda),
      fmt::format("-DINSTR_CUDNN_VERSION={}", versions.cudnn != 0 ? versions.cudnn : kUsualCudnn),
      "-shared", "-Wl,-z,now", "-Wl,-soname," + soname, "-o", library.string()};
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  spawn.argv.push_back("-ldl");
  TRY_ASSIGN(const auto result, run_command(spawn, stop));
  if (stop.stop_requested()) return fail("stopped");
  if (result.exit_code == 0) return library;
  return fail("cannot build the stand-in for " + soname + ":\n" + result.errors.substr(0, 4000),
              "report it with this message");
}

}  // namespace

std::vector<CudaLibrary> find_cuda_libraries(const fs::path& library_dir) {
  LibraryMap by_soname;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(library_dir, ignored)) {
    const std::string name = entry.path().filename().string();
    // LibTorch's archives have CUDA's libraries in the same folder.
    if (name.find(".so") == std::string::npos || find_known(name) != nullptr) continue;
    if (const auto imports = read_imports(entry.path())) add_needs(*imports, by_soname);
  }
  std::vector<CudaLibrary> libraries;
  for (const auto& [soname, needs] : by_soname)
    libraries.push_back({soname, needs.first, {needs.second.begin(), needs.second.end()}});
  return libraries;
}

CudaVersions read_cuda_versions(const fs::path& library_dir) {
  CudaVersions versions;
  std::smatch parts;
  const fs::path root = library_dir.parent_path();
  const std::string version =
      read_text(root / "version.py").value_or("") + read_text(root / "build-version").value_or("");
  if (std::regex_search(version, parts, std::regex(R"(\+cu(\d{2})(\d))")))
    versions.cuda = std::stoi(parts.str(1)) * 1000 + std::stoi(parts.str(2)) * 10;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root.parent_path(), ignored)) {
    if (!entry.path().filename().string().starts_with("torch-")) continue;
    const std::string metadata = read_text(entry.path() / "METADATA").value_or("");
    const std::regex form(R"(nvidia-cudnn-cu\d+ ?\(?==(\d{1,2})\.(\d{1,2})\.(\d{1,2})\.)");
    if (!std::regex_search(metadata, parts, form)) continue;
    versions.cudnn =
        std::stoi(parts.str(1)) * 10000 + std::stoi(parts.str(2)) * 100 + std::stoi(parts.str(3));
  }
  return versions;
}

std::string generate_cuda_stubs(const CudaLibrary& library) {
  const KnownLibrary* const known = find_known(library.soname);
  std::string text = "#include \"record.h\"\n";
  for (const std::string& function : library.functions) {
    text += returns_text(function)
                ? fmt::format("CUDA_TEXT({})\n", function)
                : fmt::format("CUDA_UNSUPPORTED({}, {})\n", function, known ? known->error : -1);
  }
  return text;
}

Expected<std::vector<fs::path>> build_cuda_host(const CudaHostBuild& build,
                                                const std::vector<CudaLibrary>& libraries,
                                                const CudaVersions& versions,
                                                std::stop_token stop) {
  if (versions.cuda == 0) {
    return fail(
        "LibTorch does not say for which CUDA it was built: neither its version.py nor its "
        "build-version ends with a version such as +cu130",
        "use a LibTorch from PyPI or pytorch.org");
  }
  const auto source = [&](std::string_view name) { return (build.sources / name).string(); };
  TRY_ASSIGN(const fs::path core,
             link(build, versions, "libinstr_cuda_host.so",
                  {source("record.cpp"), source("memory.cpp"), source("device.cpp")}, stop));
  std::vector<fs::path> built{core};
  for (const CudaLibrary& library : libraries) {
    const fs::path stubs = build.folder / (library.soname + ".stubs.cpp");
    const fs::path script = build.folder / (library.soname + ".version");
    TRY(write_text(stubs, generate_cuda_stubs(library)));
    TRY(write_text(script, library.version + " { global: *; };\n"));
    std::vector<std::string> arguments{stubs.string(), core.string(), "-Wl,-rpath,$ORIGIN"};
    const KnownLibrary* const known = find_known(library.soname);
    if (known != nullptr && !known->source.empty()) arguments.push_back(source(known->source));
    if (!library.version.empty()) arguments.push_back("-Wl,--version-script=" + script.string());
    TRY_ASSIGN(fs::path linked, link(build, versions, library.soname, arguments, stop));
    built.push_back(std::move(linked));
  }
  return built;
}

Expected<void> add_cuda_host(const fs::path& worker_folder, const fs::path& library_dir,
                             const fs::path& sources, const fs::path& compiler,
                             std::stop_token stop) {
  const CudaHostBuild build{sources / "worker" / kCudaHostFolder, compiler,
                            worker_folder / kCudaHostFolder};
  std::error_code problem;
  fs::create_directories(build.folder, problem);
  if (problem) return fail("cannot make " + build.folder.string() + ": " + problem.message());
  TRY(build_cuda_host(build, find_cuda_libraries(library_dir), read_cuda_versions(library_dir),
                      std::move(stop)));
  return {};
}

std::string identify_cuda_host(const fs::path& sources) {
  std::map<std::string, std::string> hashes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(sources / "worker" / kCudaHostFolder, ignored)) {
    hashes[entry.path().filename().string()] = file_hash(entry.path()).value_or("?");
  }
  std::string text;
  for (const auto& [name, hash] : hashes) text += name + " " + hash + "\n";
  return text;
}

void use_cuda_host(std::vector<std::string>& environment, const fs::path& worker_folder,
                   const std::string& name, const std::string& device) {
  std::set<std::string> libraries;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(worker_folder / kCudaHostFolder, ignored)) {
    const std::string file = entry.path().filename().string();
    const bool is_library = file.find(".so") != std::string::npos && !file.ends_with(".cpp") &&
                            !file.ends_with(".version");
    if (is_library) libraries.insert(fmt::format("{}/{}/{}", name, kCudaHostFolder, file));
  }
  std::string preloaded = fmt::format("{}", fmt::join(libraries, ":"));
  constexpr std::string_view kPreload = "LD_PRELOAD=";
  std::erase_if(environment, [&](const std::string& variable) {
    const bool is_preload = variable.starts_with(kPreload);
    if (is_preload) preloaded = variable.substr(kPreload.size()) + ":" + preloaded;
    return is_preload || variable.starts_with("CUDA_VISIBLE_DEVICES=");
  });
  environment.push_back(std::string(kPreload) + preloaded);
  environment.push_back("INSTR_CUDA_STAND_IN=" + device);
  environment.push_back(fmt::format("TRITON_LIBCUDA_PATH={}/{}", name, kCudaHostFolder));
  // Triton compiles a library for itself; otherwise that would be in the user's home.
  environment.push_back(fmt::format("TRITON_HOME={}/{}", name, kUnsealedName));
  // Otherwise torch would keep kernels that nothing has compiled for programs on a real device.
  environment.push_back("USE_PYTORCH_KERNEL_CACHE=0");
}

}  // namespace instr
