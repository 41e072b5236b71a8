// The libraries that a worker has loaded, which counts depend on besides LibTorch itself: BLAS,
// OpenMP, the C and C++ libraries. Found from outside, from the process's mappings, so that the
// query does not change the process.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

struct MappedFile {
  std::filesystem::path path;
  std::string inode;  // "08:01 1234": device and number
};

// The shared objects whose code is mapped, in the order of `maps`, the text of /proc/PID/maps; each
// once, without Valgrind's own.
std::vector<MappedFile> mapped_libraries(std::string_view maps);

// "libblas.so.3" of "/usr/lib/blas/libblas.so.3.11.0": the name common to all its versions.
std::string library_name(const std::filesystem::path& path);

// As fields of a fingerprint (core/results/fingerprint.h), each with its build id. Without a
// build id, the hash of its content; for a file that no longer exists, its inode, which is unique.
// libtorch_cpu.so is a field of its own.
std::map<std::string, std::string> library_fields(const std::vector<MappedFile>& libraries);

// Those of one of our processes; empty if the kernel does not say.
std::map<std::string, std::string> loaded_libraries(pid_t process);

// The files that a running worker has loaded, and whether one of them has been replaced since.
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
