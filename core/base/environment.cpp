#include "core/base/environment.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "core/base/read_file.h"

namespace instr {

std::vector<std::string> own_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!changes.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : changes) environment.push_back(name + "=" + value);
  return environment;
}

std::optional<std::string> variable_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string own_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  std::vector<int> cores;
  for (int core = 0; core != CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// "max" is no number.
std::uint64_t read_limit(const fs::path& file) {
  std::istringstream text(read_file(file, kMaxTextBytes).value_or(""));
  std::uint64_t bytes = 0;
  return text >> bytes ? bytes : kNoLimit;
}

// Returns the least limit of a group and of those that it is in.
std::uint64_t least_limit(const fs::path& mount, fs::path group, const char* file) {
  std::uint64_t least = kNoLimit;
  for (group = group.relative_path();; group = group.parent_path()) {
    least = std::min(least, read_limit(mount / group / file));
    if (group.empty()) return least;
  }
}

}  // namespace

std::uint64_t read_group_limit(const std::string& groups, const fs::path& root) {
  std::uint64_t least = kNoLimit;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // "4:memory:/group", or "0::/group"
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, least_limit(root, group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit(root / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t machine_memory() {
  const auto physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::string groups = read_file("/proc/self/cgroup", kMaxTextBytes).value_or("");
  return std::min(physical, read_group_limit(groups, "/sys/fs/cgroup"));
}

const char* const kProgramVersion = INSTR_VERSION;

}  // namespace instr
