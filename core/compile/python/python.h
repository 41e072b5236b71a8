// The interpreter that runs snippets in Python, found and probed without importing its torch.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/compile/cache.h"
#include "core/compile/libtorch.h"

namespace instr {

struct Python {
  std::filesystem::path command;  // the path that the user runs, perhaps in a virtual environment
  std::filesystem::path program;  // the interpreter itself
  std::string build;              // "3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]"
  std::string version;            // "3.11.2"
  std::filesystem::path home;     // the prefix of its standard library: PYTHONHOME
  std::filesystem::path platform_home;      // the prefix of the part that depends on the platform
  std::vector<std::filesystem::path> path;  // folders of other modules, such as torch
  std::filesystem::path torch;              // the package's folder; empty: it has none
  std::string torch_version;                // "2.13.0"
  bool has_torchscript = true;
  // "NAME=VALUE": without it torch refuses to run TorchScript; empty: it needs none.
  std::string torchscript_variable;
  std::map<std::string, std::string> packages;  // installed versions by name (PackageRequirement)
};

// Chooses `requested` (--python), else the interpreter that this LibTorch was installed for, else
// the active one (VIRTUAL_ENV, then python3 on PATH).
Expected<std::string> choose_interpreter(const std::optional<std::string>& requested,
                                         const LibTorch& libtorch);

// Probes the chosen interpreter. Fails if it cannot run snippets: it is not CPython 3.9 or later
// with a global interpreter lock, it has no torch, or its torch is not the measured LibTorch. If no
// LibTorch is measured (it has no version), torch is left out instead.
// `sources`: the folder that holds worker/.
Expected<Python> find_python(const std::optional<std::string>& requested, const LibTorch& libtorch,
                             const std::filesystem::path& sources);

// Identifies the interpreter and its modules. Installing a package changes the time of its folder.
std::string identify(const Python& python);

// Returns a caution if the interpreter is not among the versions that counts were tried with.
std::optional<std::string> find_caution(const Python& python);

// Returns the reason why a snippet that imports these packages ("timm>=1.0") cannot run, with the
// command that installs them; nothing if it can.
std::optional<std::string> find_lacking_package(const Python& python,
                                                const std::vector<std::string>& needed);

// The advice if no interpreter is suitable.
inline constexpr const char* kPythonAdvice =
    "name an interpreter with --python, or select C++ alone: --language=cpp";

// Returns the path of a script of the worker for Python. `sources`: the folder that holds worker/.
std::filesystem::path python_script(const std::filesystem::path& sources, const char* name);

// The names that torch knows: in the configurations "dynamo", "functorch" and "inductor"; and
// "backends" of torch.compile(), each with the reason why it cannot run, or with an empty text.
using TorchNames = std::map<std::string, std::map<std::string, std::string>>;

// Imports torch in this interpreter, which takes seconds, to list its names; they are kept in the
// cache.
Expected<TorchNames> list_torch_names(const Python& python, const std::filesystem::path& sources,
                                      Cache& cache, std::stop_token stop = {});

// Parses the probe's output about the interpreter `command` (worker/python/probe.py).
Expected<Python> parse_probe(std::string_view probe, const std::filesystem::path& command,
                             bool needs_torch = true);

}  // namespace instr
