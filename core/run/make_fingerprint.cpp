#include "core/run/make_fingerprint.h"

#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/base/environment.h"
#include "core/base/read_file.h"
#include "core/base/trim.h"
#include "core/results/simulation.h"

namespace instr {

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

Fingerprint make_fingerprint(const LibTorch& libtorch, const Toolchain& toolchain,
                             const std::string& valgrind_version,
                             const std::map<std::string, std::string>& worker) {
  Fingerprint fingerprint;
  fingerprint.entries = {{"libtorch_version", libtorch.version},
                         {"libtorch_build_id", libtorch.build_id},
                         {"compiler", toolchain.version},
                         {"flags", without_paths(toolchain.flags)},
                         {"link_flags", without_paths(toolchain.link_flags)}};
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
