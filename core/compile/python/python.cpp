#include "core/compile/python/python.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/checkout_guard.h"
#include "core/base/content_hash.h"
#include "core/base/process.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/definitions/requirement.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSupportedVersions = ">=3.9";
// 3.14.0 cannot be told about the stack that snippets run on; adaptation() in serve.py ends as
// here.
constexpr const char* kTriedVersions = "!=3.14.0, <3.15";

// Returns the ENVIRONMENT of ENVIRONMENT/lib/python3.11/site-packages/torch/lib; empty for a
// LibTorch that was not installed for an interpreter.
fs::path find_environment(const LibTorch& libtorch) {
  const fs::path packages = libtorch.library_dir.parent_path().parent_path();
  const bool is_installed = packages.filename() == "site-packages";
  return is_installed ? packages.parent_path().parent_path().parent_path() : fs::path();
}

// "/venv/bin/python -m pip install 'timm>=1.0'"
std::string format_pip_install(const Python& python, const std::vector<std::string>& packages) {
  std::string command = python.command.string() + " -m pip install";
  for (const std::string& package : packages) {
    const bool is_plain = package.find_first_of("<>=!, \t") == std::string::npos;
    command += " " + (is_plain ? package : shell_quoted(package));
  }
  return command;
}

// Has modules of the checkout, such as of an editable installation, found in the measured tree. A
// folder that the tree lacks has none.
void move_to_measured_tree(Python& python) {
  for (fs::path& folder : python.path) folder = in_measured_tree(folder);
  std::erase_if(python.path, [](const fs::path& folder) {
    std::error_code ignored;
    return !fs::exists(folder, ignored);
  });
}

}  // namespace

Expected<std::string> choose_interpreter(const std::optional<std::string>& requested,
                                         const LibTorch& libtorch) {
  if (requested) return *requested;
  std::vector<fs::path> environments{find_environment(libtorch)};
  if (const char* active = std::getenv("VIRTUAL_ENV")) environments.emplace_back(active);
  for (const fs::path& environment : environments) {
    std::error_code ignored;
    const fs::path program = environment / "bin" / "python";
    if (!environment.empty() && fs::exists(program, ignored)) return program.string();
  }
  auto program = find_program("python3");
  if (!program) return fail("there is no Python", kPythonAdvice);
  return program->string();
}

fs::path python_script(const fs::path& sources, const char* name) {
  return sources / "worker" / "python" / name;
}

Expected<Python> parse_probe(std::string_view probe, const fs::path& command, bool needs_torch) {
  const Json json = parse_json(probe).value_or(nullptr);
  const std::string name = command.string();
  if (!json.is_object()) return fail(name + " does not run", kPythonAdvice);
  const auto text = [&json](const char* key) {
    auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  Python python;
  python.command = command;
  python.program = text("program");
  python.version = text("version");
  python.build = text("build");
  python.home = text("home");
  python.platform_home = text("platform_home");
  python.torch = text("torch");
  python.torch_version = text("torch_version");
  python.has_torchscript = json.value("has_torchscript", true);
  python.torchscript_variable = text("torchscript_variable");
  for (const auto& entry : json.value("path", Json::array())) {
    if (entry.is_string()) python.path.emplace_back(entry.get<std::string>());
  }
  const Json packages = json.value("packages", Json::object());
  for (const auto& [package, installed] : packages.items()) {
    if (installed.is_string()) python.packages.emplace(package, installed.get<std::string>());
  }
  if (text("implementation") != "cpython" ||
      !satisfies(python.version, kSupportedVersions).value_or(false)) {
    return fail(fmt::format("{} is {} {}: snippets need CPython 3.9 or later", name,
                            text("implementation"), python.version),
                kPythonAdvice);
  }
  if (json.value("is_free_threaded", false)) {
    return fail(name + " is a free-threaded build, whose counts depend on more than the snippet",
                kPythonAdvice);
  }
  if (needs_torch && python.torch.empty()) return fail(name + " has no torch", kPythonAdvice);
  return python;
}

std::optional<std::string> find_caution(const Python& python) {
  if (satisfies(python.version, kTriedVersions).value_or(true)) return std::nullopt;
  return fmt::format("not tried with CPython {}: counts in Python may be less steady",
                     python.version);
}

std::optional<std::string> find_lacking_package(const Python& python,
                                                const std::vector<std::string>& needed) {
  for (const std::string& text : needed) {
    const auto package = parse_package(text);
    if (!package) return to_string(package.error());
    const auto installed = python.packages.find(package->name);
    if (installed == python.packages.end()) {
      return fmt::format("needs the package {}: {}", package->name,
                         format_pip_install(python, needed));
    }
    const auto& [name, version] = *installed;
    const std::string& versions = package->versions;
    if (versions.empty() || satisfies(version, versions).value_or(false)) continue;
    return fmt::format("needs {} {}, this is {}: {}", name, versions, version,
                       format_pip_install(python, needed));
  }
  return std::nullopt;
}

Expected<Python> find_python(const std::optional<std::string>& requested, const LibTorch& libtorch,
                             const fs::path& sources) {
  TRY_ASSIGN(auto chosen, choose_interpreter(requested, libtorch));
  TRY(check_measured("the Python interpreter", fs::path(chosen).parent_path()));
  SpawnOptions probe;
  probe.argv = {chosen, python_script(sources, "probe.py").string()};
  TRY_ASSIGN(auto result, run_command(probe));
  if (result.exit_code != 0) {
    return fail(fmt::format("{} does not run: {}", chosen, trim_end(result.errors, "\n")),
                kPythonAdvice);
  }
  const bool needs_torch = !libtorch.version.empty();
  auto python = parse_probe(result.output, chosen, needs_torch);
  if (!python) return python;
  move_to_measured_tree(*python);
  if (!needs_torch) {
    python->torch.clear();
    return python;
  }
  if (read_library_id(python->torch / "lib") != libtorch.build_id) {
    return fail(fmt::format("{} has torch {}, not the LibTorch {} that is measured", chosen,
                            python->torch_version, libtorch.version),
                kPythonAdvice);
  }
  return python;
}

std::string identify(const Python& python) {
  std::string text = python.version;
  std::vector<fs::path> places{python.program, python.home, python.platform_home, python.torch};
  places.insert(places.end(), python.path.begin(), python.path.end());
  for (const fs::path& place : places) {
    std::error_code ignored;
    const auto changed = fs::last_write_time(place, ignored).time_since_epoch().count();
    text += fmt::format("\n{} {}", place.string(), changed);
  }
  return text;
}

namespace {

// Returns what the script prints, a JSON object.
Expected<std::string> print_torch_names(const Python& python, const fs::path& script,
                                        std::stop_token stop) {
  SpawnOptions spawn;
  spawn.argv = {python.command.string(), script.string()};
  TRY_ASSIGN(auto result, run_command(spawn, stop));
  if (result.exit_code == 0) return std::move(result.output);
  return fail(fmt::format("{} cannot list the backends of torch.compile(): {}",
                          python.command.string(), trim_end(result.errors, "\n")),
              "try it: python -c 'import torch; print(torch._dynamo.list_backends(None))'");
}

std::optional<TorchNames> parse_torch_names(const std::string& text) {
  try {
    return Json::parse(text).get<TorchNames>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Expected<TorchNames> list_torch_names(const Python& python, const fs::path& sources, Cache& cache,
                                      std::stop_token stop) {
  const fs::path script = python_script(sources, "torch_names.py");
  const std::string name =
      "torch-names-" + content_hash(identify(python) + read_text(script).value_or(""));
  if (const auto kept = cache.read_hint(name)) {
    if (auto names = parse_torch_names(*kept)) return *std::move(names);
  }
  TRY_ASSIGN(const auto text, print_torch_names(python, script, std::move(stop)));
  auto names = parse_torch_names(text);
  if (!names) return fail("the list of torch's names is not JSON", "report it");
  cache.write_hint(name, text);
  return *std::move(names);
}

}  // namespace instr
