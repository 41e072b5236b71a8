// Files that results depend on: what workers have loaded, and the contents of what was read.
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

// Lists the shared objects whose code is mapped, in the order of `maps`, the text of
// /proc/PID/maps; each once, without Valgrind's own.
std::vector<MappedFile> mapped_libraries(std::string_view maps);

// Returns the name common to all versions: "libblas.so.3" for "/usr/lib/blas/libblas.so.3.11.0".
std::string library_name(const std::filesystem::path& path);

// Returns fields of a fingerprint (core/results/fingerprint.h): each library's build id, or the
// hash of its content, or its inode if the file no longer exists. Without libtorch_cpu.so, which
// has another field.
std::map<std::string, std::string> library_fields(const std::vector<MappedFile>& libraries);

// Returns these fields of one of our processes; empty if its mappings cannot be read.
std::map<std::string, std::string> loaded_libraries(pid_t process);

// Returns the files in a worker's list of what a snippet has loaded, one per line
// (worker/counted/host.cpp, worker/native/native_code.h), without those of the system and of
// installed packages.
std::vector<std::filesystem::path> loaded_files_in(const std::string& list);

// The files that a running worker has loaded.
class UsedFiles {
 public:
  // Finds the files whose code the process has mapped and, of a worker for Python, its modules.
  // `started`: a time before the process started; files changed since then count as changed.
  static UsedFiles of(pid_t process, const std::filesystem::path& worker, timespec started);

  // Returns a loaded file that has been replaced or deleted, if any.
  std::optional<std::filesystem::path> changed() const;

 private:
  using Stamp = std::optional<struct stat>;  // absent: changed before it was looked at
  std::map<std::filesystem::path, Stamp> stamps_;
};

// The contents of files that an experiment's results depend on.

class InputHashes {
 public:
  // Returns the hash of a file, or of the code below the folder of a package; "-" if it cannot be
  // read. An object of this class reads each only once.
  const std::string& of(const std::filesystem::path& file);

  // Returns the hash of a file that was read after `begin`; "changed", which is the hash of no
  // file, if that may have been another content.
  std::string of_unchanged(const std::filesystem::path& file,
                           std::filesystem::file_time_type begin);

 private:
  struct Input {
    std::string hash;
    std::filesystem::file_time_type changed = std::filesystem::file_time_type::min();
  };
  const Input& read(const std::filesystem::path& file);

  std::map<std::filesystem::path, Input> inputs_;
};

}  // namespace instr
