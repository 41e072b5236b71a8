#include "core/run/tools.h"

#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/base/environment.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/compile/installation.h"
#include "core/measure/loaded_files.h"
#include "core/results/simulation.h"
#include "worker/wire.h"

namespace instr {

Expected<std::unique_ptr<Tools>> Tools::find(const MeasureConfig& config, std::stop_token stop,
                                             BeginPhase on_phase,
                                             std::function<void(const std::string&)> on_message) {
  LibTorch libtorch;
  Toolchain toolchain;
  if (config.tools.needs_torch && !config.tools.only_programs) {
    TRY_ASSIGN(libtorch, find_libtorch(config.tools.libtorch));
  }
  if (libtorch.has_cuda) libtorch.stand_in = find_stand_in(config.tools);
  if (!config.tools.only_programs) {
    TRY_ASSIGN(toolchain, find_toolchain(config.tools.compiler, libtorch));
  }
  TRY_ASSIGN(auto cache, Cache::open(!config.tools.no_cache, {std::move(stop), on_message}));
  if (cache.caution() && on_message) on_message(*cache.caution());
  auto tools =
      std::make_unique<Tools>(std::move(toolchain), std::move(libtorch), std::move(cache), config);
  tools->compile.on_phase = std::move(on_phase);
  return tools;
}

int jobs_of(const ToolConfig& config) {
  return config.jobs > 0 ? config.jobs : static_cast<int>(std::ssize(usable_cores()));
}

Tools::Tools(Toolchain toolchain, LibTorch libtorch, Cache opened, const MeasureConfig& config)
    : cache(std::move(opened)),
      compile{.toolchain = std::move(toolchain),
              .libtorch = std::move(libtorch),
              .jobs = jobs_of(config.tools),
              .sources = find_installation().sources,
              .each_alone = config.simulation.any(),
              .line_numbers = config.wants_lines,
              .python = config.tools.python,
              .packages_to_count = config.wants_counts,
              .packages_to_time = config.wants_times},
      languages(make_languages(config.tools.python, compile, cache)) {}

std::vector<std::string> Tools::expect(const std::vector<Variant>& variants) const {
  std::vector<std::string> cautions;
  for (const LanguageFacts& known : kLanguages) {
    auto caution = language(known.language).expect(in_language(variants, known.language));
    if (caution) cautions.push_back(std::move(*caution));
  }
  return cautions;
}

Expected<std::map<std::string, std::string>> Tools::identify(const std::vector<Variant>& variants,
                                                             std::stop_token stop) const {
  std::map<std::string, std::string> all;
  for (const LanguageFacts& known : kLanguages) {
    TRY_ASSIGN(auto hashes,
               language(known.language).identify(in_language(variants, known.language), stop));
    all.merge(hashes);
  }
  return all;
}

namespace {

std::string cpu_model() {
  std::istringstream lines(read_file("/proc/cpuinfo", kMaxTextBytes).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("model name")) continue;
    std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

std::string kernel() {
  utsname names{};
  if (uname(&names) != 0) return "";
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

// Removes flags with paths: a build in another folder gives the same counts, and its content is in
// the build id.
std::string without_paths(const std::vector<std::string>& flags) {
  std::string text;
  for (const std::string& flag : flags) {
    bool takes_path = flag == "-I" || flag == "-L" || flag == "-isystem" || flag == "-include";
    if (takes_path || flag.find('/') != std::string::npos) continue;
    text += (text.empty() ? "" : " ") + flag;
  }
  return text;
}

bool has(const Fingerprint::Entries& entries, const std::string& name) {
  return std::any_of(entries.begin(), entries.end(),
                     [&name](const auto& entry) { return entry.first == name; });
}

}  // namespace

std::string gpu_models(const fs::path& folder) {
  constexpr std::string_view kModel = "Model:";
  std::set<std::string> models;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::istringstream lines(read_file(entry.path() / "information", kMaxTextBytes).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(kModel)) models.emplace(trim(line.substr(kModel.size())));
    }
  }
  return fmt::format("{}", fmt::join(models, ", "));
}

Fingerprint make_program_fingerprint(const std::string& valgrind_version) {
  Fingerprint fingerprint =
      make_fingerprint({}, {}, valgrind_version,
                       {{"program_cpu", cpu_class() == CpuClass::kAvx2 ? "AVX2" : "DEFAULT"},
                        {"worker_version", wire::kWorkerVersion}});
  std::erase_if(fingerprint.entries, [](const auto& entry) { return entry.second.empty(); });
  for (auto& [name, id] : loaded_libraries(::getpid())) {
    if (name.find(" libc.so") != std::string::npos || name.find(" ld-linux") != std::string::npos) {
      fingerprint.entries.emplace_back(name, id);
    }
  }
  return fingerprint;
}

Fingerprint make_fingerprint(const LibTorch& libtorch, const Toolchain& toolchain,
                             const std::string& valgrind_version,
                             const std::map<std::string, std::string>& worker) {
  Fingerprint fingerprint;
  fingerprint.entries = {{"libtorch_version", libtorch.version},
                         {"libtorch_build_id", libtorch.build_id},
                         {"compiler", toolchain.version},
                         {"flags", without_paths(toolchain.flags)},
                         {"link_flags", without_paths(toolchain.link_flags)}};
  if (libtorch.stand_in) fingerprint.entries.emplace_back("cuda_stand_in", *libtorch.stand_in);
  if (!valgrind_version.empty()) {
    fingerprint.entries.emplace_back("valgrind", valgrind_version);
    fingerprint.entries.emplace_back(
        "simulated_caches",
        std::string("I1 ") + kSimulatedI1 + ", D1 " + kSimulatedD1 + ", LL " + kSimulatedLL);
  }
  for (const auto& [name, value] : worker) {
    if (name == "machine") continue;  // reserved for the second list
    bool is_own = name == "version" || name == "abi";
    std::string entry = is_own ? "worker_" + name : name;
    if (!has(fingerprint.entries, entry)) fingerprint.entries.emplace_back(entry, value);
  }
  if (has(fingerprint.entries, "timed_cpu_capability")) {
    fingerprint.entries.emplace_back("timed_cpu_model", cpu_model());
    fingerprint.entries.emplace_back(kTimedCores, std::to_string(usable_cores().size()));
  }
  fingerprint.machine = {{"kernel", kernel()}, {"cpu_model", cpu_model()}};
  return fingerprint;
}

}  // namespace instr
