// The files that a running worker has loaded, and whether one of them has been replaced since.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>

namespace instr {

class UsedFiles {
 public:
  // Those whose code the process has mapped, and, if its `worker` is one for Python, the modules
  // that it was made with. `started`: before the process was; files changed since then are not
  // what it has loaded.
  static UsedFiles of(pid_t process, const std::filesystem::path& worker, timespec started);

  // One that is another now, or gone.
  std::optional<std::filesystem::path> changed() const;

 private:
  using Stamp = std::optional<struct stat>;  // absent: it was changed before it could be looked at
  std::map<std::filesystem::path, Stamp> stamps_;
};

}  // namespace instr
