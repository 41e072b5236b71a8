#include "core/compile/libtorch.h"

#include <re2/re2.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "core/base/checkout_guard.h"
#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/compile/cache.h"
#include "core/compile/elf.h"

namespace instr {

namespace {

constexpr const char* kInstallAdvice =
    "install one (Debian: apt-get install libtorch-dev; or: pip install torch), or name its folder "
    "with --libtorch";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Returns Debian's version of the headers below this root, without its revision; empty if they are
// not of a package. Upstream's header says 1.13.0 in 1.13.1, too.
std::string read_package_version(const fs::path& root) {
  static const RE2 kVersion(R"((?s)(?:^|\n)Package: libtorch-dev\n(?:\S[^\n]*\n| [^\n]*\n)*?)"
                            R"(Version: (?:[0-9]+:)?([0-9.]+))");
  if (root.filename() != "usr") return "";
  std::string version;
  RE2::PartialMatch(read_text(root.parent_path() / "var/lib/dpkg/status").value_or(""), kVersion,
                    &version);
  return version;
}

// Reads "1.13.0" from a header, which differs by version, else from Python's version.py.
std::string read_version(const LibTorch& torch) {
  static const RE2 kDefines(R"((?s)#define TORCH_VERSION_MAJOR [^0-9]*([0-9]+).*)"
                            R"(#define TORCH_VERSION_MINOR [^0-9]*([0-9]+).*)"
                            R"(#define TORCH_VERSION_PATCH [^0-9]*([0-9]+))");
  static const RE2 kPython(R"(__version__ =[^'"]*['"]([^'"+]*))");
  std::string major, minor, patch, version;
  for (const auto& folder : torch.include_dirs) {
    for (const char* header : {"torch/headeronly/version.h", "torch/version.h"}) {
      const std::string text = read_text(folder / header).value_or("");
      if (RE2::PartialMatch(text, kDefines, &major, &minor, &patch)) {
        version = read_package_version(torch.root);
        const bool is_same = version.starts_with(major + "." + minor + ".");
        return is_same ? version : major + "." + minor + "." + patch;
      }
    }
  }
  RE2::PartialMatch(read_text(torch.root / "version.py").value_or(""), kPython, &version);
  return version;
}

// Returns the define for the std::string layout that LibTorch was built with, which shows in the
// name of a function that takes a std::string: libc10's Error(SourceLocation, std::string).
std::string find_string_layout(const fs::path& library_dir) {
  bool is_old = file_contains(library_dir / "libc10.so", "_ZN3c105ErrorC2ENS_14SourceLocationESs");
  return std::string("_GLIBCXX_USE_CXX11_ABI=") + (is_old ? "0" : "1");
}

// Returns the folder below `root` that contains libtorch_cpu.so.
std::optional<fs::path> find_library_folder(const fs::path& root) {
  for (const char* below : {"lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64"}) {
    if (is_file(root / below / "libtorch_cpu.so")) return root / below;
  }
  return std::nullopt;
}

// Returns true for a system folder, also by another name, such as a link to /usr.
bool is_system_include(const fs::path& folder) {
  std::error_code unknown;
  return fs::equivalent(folder, "/usr/include", unknown) ||
         fs::equivalent(folder, "/usr/local/include", unknown);
}

// Returns the folders of headers below `root`, except the system's, which compilers search anyway.
std::vector<fs::path> find_include_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  fs::path base = root / "include";
  if (!is_file(base / "torch/csrc/api/include/torch/torch.h")) return folders;
  if (!is_system_include(base)) folders.push_back(base);
  folders.push_back(base / "torch/csrc/api/include");
  return folders;
}

std::optional<fs::path> find_cuda_headers(const fs::path& torch_root) {
  std::vector<fs::path> places;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const auto toolkit = variable_value(name);
    if (toolkit) places.push_back(fs::path(*toolkit) / "include");
  }
  for (const char* package : {"cu13", "cuda_runtime"}) {
    places.push_back(torch_root.parent_path() / "nvidia" / package / "include");
  }
  places.insert(places.end(), {"/usr/local/cuda/include", "/usr/include"});
  for (const auto& place : places) {
    if (is_file(place / "cuda_runtime_api.h") && is_file(place / "crt/host_defines.h"))
      return place;
  }
  return std::nullopt;
}

// Reads the LibTorch in this folder, if it contains one.
std::optional<LibTorch> read_libtorch(const fs::path& root, const std::string& found_by) {
  LibTorch torch;
  torch.root = root;
  torch.found_by = found_by;
  auto library_dir = find_library_folder(root);
  torch.include_dirs = find_include_folders(root);
  if (!library_dir || torch.include_dirs.empty()) return std::nullopt;
  torch.library_dir = *library_dir;
  for (const char* name : {"torch", "torch_cpu", "c10", "torch_cuda", "c10_cuda"}) {
    if (is_file(torch.library_dir / ("lib" + std::string(name) + ".so"))) {
      torch.libraries.push_back(name);
    }
  }
  torch.has_cuda = is_file(torch.library_dir / "libtorch_cuda.so");
  if (torch.has_cuda) torch.cuda_headers = find_cuda_headers(root);
  torch.version = read_version(torch);
  torch.build_id = read_library_id(torch.library_dir);
  torch.defines.push_back(find_string_layout(torch.library_dir));
  return torch;
}

// Lists site-packages and dist-packages of a Python installation, newest version first.
std::vector<fs::path> list_python_packages(const fs::path& prefix) {
  std::vector<fs::path> folders;
  for (const char* lib : {"lib", "local/lib", "lib64"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(prefix / lib, error)) {
      std::string name = entry.path().filename().string();
      if (name.rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        if (is_folder(entry.path() / packages)) folders.push_back(entry.path() / packages);
      }
    }
  }
  std::ranges::stable_sort(folders, std::greater(), [](const fs::path& path) {
    std::string name = path.parent_path().filename().string();
    std::size_t dot = name.find('.');
    return dot == std::string::npos ? 0 : std::atoi(name.c_str() + dot + 1);
  });
  return folders;
}

// Finds the LibTorch that a person names: by its folder, by a parent folder (a virtual environment,
// site-packages, an unpacked archive), or by the folder of its CMake files.
std::optional<LibTorch> find_libtorch_at(const fs::path& named, const std::string& found_by) {
  fs::path root = fs::absolute(named).lexically_normal();
  if (!root.has_filename()) root = root.parent_path();
  std::vector<fs::path> places{root, root / "libtorch", root / "torch"};
  for (const auto& packages : list_python_packages(root)) places.push_back(packages / "torch");
  for (fs::path up = root; up.has_relative_path(); up = up.parent_path()) {
    if (up.filename() == "share" || up.filename() == "lib" || up.filename() == "lib64") {
      places.push_back(up.parent_path());
    }
  }
  for (const auto& place : places) {
    if (auto torch = read_libtorch(place, found_by)) return torch;
  }
  return std::nullopt;
}

Expected<LibTorch> read_named_libtorch(const fs::path& named, const std::string& found_by) {
  if (auto torch = find_libtorch_at(named, found_by)) return *torch;
  std::string problem = !is_folder(named) ? ": there is no such folder"
                        : find_library_folder(named)
                            ? ": it has libraries but no headers"
                            : ": it lacks lib/libtorch_cpu.so or the headers";
  if (named.native().starts_with('~')) {
    return fail(
        found_by + " names '" + named.string() + "': a shell expands ~ only at the start of a word",
        "write $HOME instead of ~");
  }
  return fail(
      found_by + " names '" + named.string() + "', which does not contain a LibTorch" + problem,
      "name the folder that has include/ and lib/ (for pip's: .../site-packages/torch)");
}

std::vector<std::string> split_paths(const char* list, std::string_view separators) {
  std::vector<std::string> parts;
  std::string text = list != nullptr ? list : "";
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Returns the prefix of the python3 that a shell would run.
std::optional<fs::path> find_python_prefix() {
  for (const auto& folder : split_paths(std::getenv("PATH"), ":")) {
    fs::path program = fs::path(folder) / "python3";
    if (!is_file(program) || ::access(program.c_str(), X_OK) != 0) continue;
    // A virtual environment's python3 is a link to another prefix.
    if (is_file(fs::path(folder).parent_path() / "pyvenv.cfg")) {
      return fs::path(folder).parent_path();
    }
    std::error_code error;
    fs::path real = fs::canonical(program, error);
    return error ? fs::path(folder).parent_path() : real.parent_path().parent_path();
  }
  return std::nullopt;
}

// Returns the Python environment that this program is installed in; nothing if it is elsewhere.
std::optional<fs::path> find_own_environment() {
  const fs::path prefix = fs::path(own_program()).parent_path().parent_path();
  std::error_code ignored;
  for (const char* mark : {"pyvenv.cfg", "conda-meta"}) {
    if (fs::exists(prefix / mark, ignored)) return prefix;
  }
  return std::nullopt;
}

// The LibTorch of the Python installation with this prefix.
std::optional<LibTorch> find_python_libtorch(const fs::path& prefix) {
  for (const auto& packages : list_python_packages(prefix)) {
    if (auto torch = read_libtorch(packages / "torch", "python")) return torch;
  }
  return std::nullopt;
}

// Variables that name a LibTorch: our own, those of CMake's find_package(Torch), and that of
// bindings for other languages.
constexpr const char* kLibTorchVariables[] = {"TORCH_DIR", "Torch_DIR", "Torch_ROOT", "LIBTORCH"};

// Returns the LibTorch in a place, if there is one; an error if a person named the place.
Expected<std::optional<LibTorch>> look_at(const LibTorchPlace& place) {
  using Kind = LibTorchPlace::Kind;
  switch (place.kind) {
    case Kind::kNamed: return read_named_libtorch(place.folder, place.name);
    case Kind::kPrefix: return find_libtorch_at(place.folder, place.name);
    case Kind::kPython: return find_python_libtorch(place.folder);
    case Kind::kSystem: return read_libtorch(place.folder, "system");
  }
  return std::nullopt;
}

}  // namespace

std::string read_library_id(const fs::path& library_dir) {
  const fs::path library = library_dir / "libtorch_cpu.so";
  const std::string id = read_build_id(library).value_or("");
  return id.empty() ? file_hash(library).value_or("") : id;
}

std::vector<LibTorchPlace> list_libtorch_places(const std::optional<fs::path>& requested) {
  using Kind = LibTorchPlace::Kind;
  std::vector<LibTorchPlace> places;
  if (requested) places.push_back({"--libtorch", in_measured_tree(*requested), Kind::kNamed});
  for (const char* variable : kLibTorchVariables) {
    if (const auto folder = variable_value(variable)) {
      places.push_back({variable, *folder, Kind::kNamed});
    }
  }
  for (const auto& folder : split_paths(std::getenv("CMAKE_PREFIX_PATH"), ":;")) {
    places.push_back({"CMAKE_PREFIX_PATH", folder, Kind::kPrefix});
  }
  if (auto own = find_own_environment()) {
    places.push_back({"the environment of instr_bench", *own, Kind::kPython});
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto active = variable_value(variable)) {
      places.push_back({variable, *active, Kind::kPython});
    }
  }
  if (auto prefix = find_python_prefix()) places.push_back({"python3", *prefix, Kind::kPython});
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    places.push_back({"pip install --user", fs::path(home) / ".local", Kind::kPython});
  }
  for (const char* root : {"/usr/local", "/usr"}) {
    places.push_back({"the system", root, Kind::kSystem});
  }
  return places;
}

Expected<std::string> describe_libtorch_at(const LibTorchPlace& place) {
  TRY_ASSIGN(const auto torch, look_at(place));
  return torch ? torch->version : "";
}

Expected<LibTorch> find_libtorch(const std::optional<fs::path>& requested) {
  for (const LibTorchPlace& place : list_libtorch_places(requested)) {
    TRY_ASSIGN(auto torch, look_at(place));
    if (!torch) continue;
    TRY(check_measured("LibTorch", torch->library_dir));
    return *std::move(torch);
  }
  return fail(
      "no LibTorch found in --libtorch, TORCH_DIR, Torch_DIR, Torch_ROOT, LIBTORCH, "
      "CMAKE_PREFIX_PATH, the active Python or the system",
      kInstallAdvice);
}

}  // namespace instr
