// Builds stand-ins for the CUDA libraries that a LibTorch needs, so that its CUDA build runs
// without a GPU and without CUDA: the functions in worker/cuda_host, and for every other function
// that LibTorch needs a stub that reports it as unsupported.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

// The folder of the stand-ins' sources in worker/, and of the built ones below a worker's.
inline constexpr const char* kCudaHostFolder = "cuda_host";

// A CUDA library that a LibTorch needs.
struct CudaLibrary {
  std::string soname;                  // "libcudart.so.13"
  std::string version;                 // the version of its functions; empty: they have none
  std::vector<std::string> functions;  // those that LibTorch needs, sorted

  bool operator==(const CudaLibrary&) const = default;
};

// Lists the CUDA libraries that the shared objects in this folder need, by soname. Empty if they
// were built without CUDA.
std::vector<CudaLibrary> find_cuda_libraries(const std::filesystem::path& library_dir);

// Versions in CUDA's own form.
struct CudaVersions {
  int cuda = 0;   // 13000: CUDA 13.0
  int cudnn = 0;  // 92400: cuDNN 9.24.0
};

// Returns the versions that a LibTorch was built for, as its version and its Python package's
// metadata name them; parts that are not known are 0.
CudaVersions read_cuda_versions(const std::filesystem::path& library_dir);

// Returns the source of stubs for all functions of a library. A stub is a weak symbol: the function
// in worker/cuda_host replaces it, if there is one.
std::string generate_cuda_stubs(const CudaLibrary& library);

struct CudaHostBuild {
  std::filesystem::path sources;   // worker/cuda_host
  std::filesystem::path compiler;  // g++ or clang++
  std::filesystem::path folder;    // an existing folder for the libraries
};

// Compiles the stand-ins and returns them, in the order in which LD_PRELOAD must name them. By full
// path: then neither the RPATH of LibTorch nor a toolkit on this machine takes precedence.
Expected<std::vector<std::filesystem::path>> build_cuda_host(
    const CudaHostBuild& build, const std::vector<CudaLibrary>& libraries,
    const CudaVersions& versions, std::stop_token stop);

// Builds the stand-ins for a LibTorch in a folder below a worker's.
Expected<void> add_cuda_host(const std::filesystem::path& worker_folder,
                             const std::filesystem::path& library_dir,
                             const std::filesystem::path& sources,
                             const std::filesystem::path& compiler, std::stop_token stop);

// Identifies the sources of the stand-ins, for the cache.
std::string identify_cuda_host(const std::filesystem::path& sources);

// Sets the variables that have a program load the stand-ins in a worker's folder, besides what it
// preloads anyway. `environment`: "NAME=value". `name`: the folder's name for that program.
void use_cuda_host(std::vector<std::string>& environment,
                   const std::filesystem::path& worker_folder, const std::string& name,
                   const std::string& device);

}  // namespace instr
