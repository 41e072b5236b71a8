#include "core/measure/used_files.h"

#include <sstream>
#include <string>
#include <system_error>
#include <tuple>

#include "core/base/read_file.h"
#include "core/compile/compile_python.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

// How far the clock that stamps files may be behind: a tick of the kernel.
constexpr long kTick = 10'000'000;  // ns

std::optional<struct stat> stat_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return std::nullopt;
  return found;
}

auto nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000L + time.tv_nsec; }

auto identity(const struct stat& one) {
  return std::tuple(one.st_dev, one.st_ino, one.st_size, nanoseconds(one.st_mtim),
                    nanoseconds(one.st_ctim));
}

template <class Use>
void each_mapped(pid_t process, const Use& use) {
  std::istringstream lines(
      read_file("/proc/" + std::to_string(process) + "/maps", kMostText).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, path;
    words >> range >> access >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    if (access.find('x') != std::string::npos && path.starts_with('/')) use(fs::path(path));
  }
}

}  // namespace

UsedFiles UsedFiles::of(pid_t process, const fs::path& worker, timespec started) {
  UsedFiles used;
  const auto add = [&used, started](const fs::path& file) {
    auto found = stat_of(file);
    if (found && nanoseconds(found->st_ctim) > nanoseconds(started) - kTick) found.reset();
    used.stamps_.emplace(file, found);
  };
  each_mapped(process, add);
  for (const fs::path& module : python_modules(worker)) add(module);
  return used;
}

std::optional<fs::path> UsedFiles::changed() const {
  for (const auto& [file, stamp] : stamps_) {
    const auto now = stat_of(file);
    if (!stamp || !now || identity(*now) != identity(*stamp)) return file;
  }
  return std::nullopt;
}

}  // namespace instr
