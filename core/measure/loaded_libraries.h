// The libraries that a worker has loaded, which counts depend on beside LibTorch itself: BLAS,
// OpenMP, the C and C++ libraries. Found from outside, from what the kernel has mapped for the
// process, so that asking moves nothing in it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

struct MappedFile {
  std::filesystem::path path;
  std::string inode;  // "08:01 1234": device and number
};

// The shared objects of which code is mapped, in the order of `maps`, the text of /proc/PID/maps;
// each once, without Valgrind's own.
std::vector<MappedFile> mapped_libraries(std::string_view maps);

// "libblas.so.3" of "/usr/lib/blas/libblas.so.3.11.0": what it is called in each of its versions.
std::string library_name(const std::filesystem::path& path);

// As fields of a fingerprint (core/results/library_fields.h), each with its build id. Without one
// the hash of its content; of a file that is no longer there its inode, which equals that of no
// other. libtorch_cpu.so is a field of its own.
std::map<std::string, std::string> library_fields(const std::vector<MappedFile>& libraries);

// Of a process of ours; empty if the kernel does not tell.
std::map<std::string, std::string> loaded_libraries(pid_t process);

}  // namespace instr
