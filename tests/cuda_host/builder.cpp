// Lists the CUDA libraries that a LibTorch needs, or builds stand-ins for them: for
// tests/proofs/cuda-host, and to record tests/fixtures/cuda_host.
//
// cuda_host_builder LIBRARY_DIR                          prints the list
// cuda_host_builder LIBRARY_DIR SOURCES COMPILER FOLDER  builds into FOLDER, prints LD_PRELOAD's
// value
#include <fmt/core.h>

#include "tests/cuda_host/library_lists.h"

int main(int argc, char** argv) {
  using namespace instr;
  if (argc != 2 && argc != 5) {
    fmt::print(stderr, "usage: cuda_host_builder LIBRARY_DIR [SOURCES COMPILER FOLDER]\n");
    return 2;
  }
  const auto libraries = find_cuda_libraries(argv[1]);
  if (argc == 2) {
    fmt::print("{}", testing::print_libraries(libraries));
    return libraries.empty() ? 1 : 0;
  }
  const auto built =
      build_cuda_host({argv[2], argv[3], argv[4]}, libraries, read_cuda_versions(argv[1]), {});
  if (!built) {
    fmt::print(stderr, "{}\n", to_string(built.error()));
    return 1;
  }
  std::string value;
  for (const auto& library : *built) value += (value.empty() ? "" : ":") + library.string();
  fmt::print("{}\n", value);
}
