#include "core/compile/python/packages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/content_hash.h"
#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/read_file.h"
#include "core/compile/cpp/compile_cpp.h"
#include "core/compile/python/generate_python.h"
#include "worker/wire.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExporter = "export_package.py";
constexpr const char* kSnippetCompiler = "compile_snippets.py";  // imported by the exporter
constexpr const char* kPackageFile = "model.pt2";

bool needs_package(const Variant& variant) { return variant.exported != nullptr; }

std::string format_export_request(const Variant& variant) {
  const PythonSnippet snippet = make_export_snippet(variant);
  const auto list = [](const std::vector<Text>& texts) {
    Json codes = Json::array();
    for (const Text& text : texts) codes.push_back(text.code);
    return codes;
  };
  const Json request{{"purpose", "export"},
                     {"module", list(snippet.module)},
                     {"setup", list(snippet.setup)},
                     {"statement", list(snippet.statement)},
                     {"threads", variant.threads}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Lists the variables of this process that Inductor and compilers read, one per line.
std::string list_compiler_variables() {
  std::string text;
  for (const std::string& variable : own_environment()) {
    const auto begins = [&variable](const char* start) { return variable.starts_with(start); };
    if (std::ranges::any_of(std::array{"TORCH", "CXX=", "PATH="}, begins)) text += variable + "\n";
  }
  return text;
}

// Returns the line of /proc/cpuinfo that lists what this processor can do.
std::string list_processor_features() {
  const std::string text = read_file("/proc/cpuinfo", kMaxTextBytes).value_or("");
  const std::size_t begin = text.find("\nflags");
  return begin == text.npos ? "" : text.substr(begin, text.find('\n', begin + 1) - begin);
}

// Returns the paths of packages in the cache, as a worker sees them: beside the worker's own
// folder. The two differ even if they lead to the same package, since counts depend on what code
// contains.
MadePackage paths_in_worker(const fs::path& counted, const fs::path& native) {
  const auto path = [](const fs::path& package, const char* slash) {
    return fmt::format("/proc/self/fd/{}/../{}{}{}", wire::kProgramFolderFd,
                       package.parent_path().filename().string(), slash, kPackageFile);
  };
  return {path(counted, "/"), path(native, "//")};
}

// Returns the place in the definition and the reason.
Error explain_failure(const Json& reply, const Variant& variant) {
  const PythonSnippet snippet = make_export_snippet(variant);
  const auto place = find_place_in_python(snippet, reply.value("line", 0));
  const std::string reason = reply.value("message", "");
  const bool lacks_compiler = reason.find("InvalidCxxCompiler") != reason.npos;
  return {place.value_or(variant.where),
          fmt::format("AOTInductor cannot make a package of it: {} [in {}]", reason, variant.key),
          lacks_compiler ? "install g++: apt-get install g++" : ""};
}

}  // namespace

void Packages::expect(const std::vector<Variant>& variants) {
  if (python_ || std::ranges::none_of(variants, needs_package)) return;
  python_ = find_python(options_.python, options_.libtorch, options_.sources);
}

std::optional<std::string> Packages::find_obstacle(const Variant& variant) const {
  if (!needs_package(variant)) return std::nullopt;
  if (!*python_) return to_string(python_->error());
  return find_lacking_package(**python_, variant.exported->packages);
}

std::vector<Packages::Target> Packages::targets() const {
  std::vector<Target> targets;
  if (options_.packages_to_count || !options_.packages_to_time) targets.push_back(Target::kCounted);
  if (options_.packages_to_time) targets.push_back(Target::kNative);
  return targets;
}

std::string Packages::identity_of(const Variant& exported, Target target) const {
  const Python& python = **python_;
  std::string identity = fmt::format("{}\n{} {}\n{}\n", python.build, python.torch_version,
                                     options_.libtorch.build_id, exported.device);
  for (const char* script : {kExporter, kSnippetCompiler}) {
    identity += read_text(python_script(options_.sources, script)).value_or("");
  }
  identity += target == Target::kCounted
                  ? fmt::format("{}", fmt::join(pinned_environment(cpu_class()), "\n"))
                  : list_compiler_variables() + list_processor_features();
  return identity + "\n" + format_export_request(exported);
}

std::string Packages::hint_of(const Variant& exported, Target target) const {
  return "package-of-" + content_hash(identity_of(exported, target));
}

std::vector<std::string> Packages::environment_for(Target target) const {
  // Compiled headers are shared by the packages of a run, so they are below its temporary folder.
  const fs::path scratch = cache_.scratch() / "packages";
  std::error_code ignored;
  fs::create_directory(scratch, ignored);
  std::vector<std::string> path;
  for (const fs::path& folder : (*python_)->path) path.push_back(folder.string());
  const std::map<std::string, std::string> changes{
      {"PYTHONPATH", fmt::format("{}", fmt::join(path, ":"))},
      {"PYTHONHASHSEED", "0"},
      {"TMPDIR", scratch.string()},
      {"TORCHINDUCTOR_CACHE_DIR", (scratch / "inductor").string()},
      {"TORCHINDUCTOR_COMPILE_THREADS", "1"},
      {"TORCH_DEVICE_BACKEND_AUTOLOAD", "0"}};
  if (target == Target::kNative) return own_environment(changes);
  std::vector<std::string> environment = pinned_environment(cpu_class());
  environment.push_back(pinned_march(cpu_class()));
  environment.emplace_back(kAssumeVectorInstructions);
  for (const auto& [name, value] : changes) environment.push_back(name + "=" + value);
  return environment;
}

Expected<void> Packages::run_exporter(const Variant& exported, Target target,
                                      const fs::path& package, const fs::path& list,
                                      std::stop_token stop) const {
  Fd input = open_input(format_export_request(exported));
  SpawnOptions spawn;
  spawn.argv = {(*python_)->command.string(), python_script(options_.sources, kExporter).string(),
                package.string(), list.string()};
  spawn.environment = environment_for(target);
  spawn.descriptors = {{input.get(), STDIN_FILENO}};
  TRY_ASSIGN(const auto result, run_command(spawn, stop));
  const auto reply = parse_json(result.output);
  if (!reply || !reply->is_object()) {
    return fail_at(exported.where,
                   fmt::format("the interpreter that makes a package ended with status {}:\n{}",
                               result.exit_code, result.errors));
  }
  if (!reply->contains("message")) return {};
  return tl::unexpected<Error>(explain_failure(*reply, exported));
}

Expected<fs::path> Packages::make(const Variant& exported, Target target, std::stop_token stop) {
  const ArtefactInputs inputs{
      .identity = identity_of(exported, target),
      .hints = {hint_of(exported, target)},
      .name_of = [](const std::string& hash) { return "package-" + hash + "/" + kPackageFile; }};
  return artefacts_.get(inputs, [&](const fs::path& to, const fs::path& list) {
    return run_exporter(exported, target, to, list, stop);
  });
}

std::vector<Variant> Packages::find(const std::vector<Variant>& variants) const {
  std::vector<Variant> found;
  for (Variant variant : variants) {
    if (!needs_package(variant)) {
      found.push_back(std::move(variant));
      continue;
    }
    if (!can_make()) continue;
    std::vector<fs::path> packages;
    for (const Target target : targets()) {
      const auto package = artefacts_.find(hint_of(*variant.exported, target), {});
      if (package) packages.push_back(*package);
    }
    if (packages.size() != targets().size()) continue;
    variant.made_package = paths_in_worker(packages.front(), packages.back());
    found.push_back(std::move(variant));
  }
  return found;
}

// Sets the names of the variant's packages, which are made unless the cache has them.
Expected<void> Packages::make_all(Variant& variant, std::stop_token stop) {
  std::vector<fs::path> packages;
  for (const Target target : targets()) {
    TRY_ASSIGN(const auto package, make(*variant.exported, target, stop));
    packages.push_back(package);
  }
  variant.made_package = paths_in_worker(packages.front(), packages.back());
  return {};
}

Expected<void> Packages::compile(const std::vector<Variant>& variants, const Compile& compile,
                                 const LanguageSupport::OnUnit& on_unit, std::stop_token stop) {
  std::vector<Variant> packaged = variants;
  const auto others = std::stable_partition(packaged.begin(), packaged.end(), needs_package);
  if (others != packaged.end()) TRY(compile({others, packaged.end()}));
  packaged.erase(others, packaged.end());
  if (packaged.empty() || stop.stop_requested()) return {};

  std::vector<Expected<void>> made(packaged.size());
  {
    const auto phase = begin_phase(
        options_.on_phase, "making " + format_plural(packaged.size(), "AOTInductor package"));
    TRY(run_parallel(packaged.size(), options_.jobs, [&](std::size_t i) -> Expected<void> {
      made[i] = make_all(packaged[i], stop);
      return {};
    }));
  }
  if (stop.stop_requested()) return {};
  UnitResult failed;
  std::vector<Variant> ready;
  for (std::size_t i = 0; i < packaged.size(); ++i) {
    if (made[i]) {
      ready.push_back(std::move(packaged[i]));
    } else {
      failed.failed.push_back(make_compile_failure(packaged[i], to_string(made[i].error())));
    }
  }
  if (!failed.failed.empty()) on_unit(std::move(failed));
  return ready.empty() ? Expected<void>() : compile(ready);
}

std::vector<Variant> Packages::identify(std::vector<Variant> variants) const {
  for (Variant& variant : variants) {
    if (!needs_package(variant) || !can_make()) continue;
    std::string text;
    for (const Target target : targets()) text += hint_of(*variant.exported, target);
    variant.made_package = {text, text};
  }
  return variants;
}

std::map<std::string, std::string> Packages::list_files(const Variant& variant) const {
  std::map<std::string, std::string> files;
  if (!needs_package(variant)) return files;
  const auto& [counted, native] = variant.made_package;
  for (const fs::path& package : {fs::path(counted), fs::path(native)}) {
    const std::string artefact = package.parent_path().filename().string() + "/" + kPackageFile;
    files.merge(artefacts_.list_files(artefact, {}));
  }
  return files;
}

}  // namespace instr
