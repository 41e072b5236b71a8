#include "core/compile/cuda_host.h"

#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/compile/elf.h"
#include "tests/cuda_host/library_lists.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::cuda_host_test {
namespace {

using namespace testing;

const fs::path kSources = fs::path(INSTR_SOURCE_DIR) / "worker/cuda_host";

std::vector<CudaLibrary> recorded_libraries(const std::string& torch) {
  return parse_libraries(read_text(fixture("cuda_host/" + torch + ".txt")).value());
}

std::string run(std::vector<std::string> argv) {
  SpawnOptions spawn;
  spawn.argv = std::move(argv);
  const CommandResult result = value_of(run_command(std::move(spawn)));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return result.output;
}

// Builds the stand-ins that a recorded LibTorch needs, and checks that none of its functions is
// missing.
std::vector<fs::path> build(const std::string& torch, const CudaVersions& versions,
                            const fs::path& folder) {
  const auto libraries = recorded_libraries(torch);
  const auto built = value_of(build_cuda_host({kSources, "g++", folder}, libraries, versions, {}));
  EXPECT_EQ(built.size(), 1 + libraries.size());
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    const CudaLibrary& library = libraries[i];
    const auto exports = read_exports(built.at(1 + i)).value_or(std::vector<std::string>{});
    for (const std::string& function : library.functions) {
      EXPECT_TRUE(std::binary_search(exports.begin(), exports.end(), function))
          << library.soname << " lacks " << function;
    }
  }
  return built;
}

TEST(CudaHost, SmallProgramRunsOnTheStandIns) {
  const TemporaryFolder folder;
  const auto built = build("torch-2.14.1", {.cuda = 13000, .cudnn = 92400}, folder.path());
  const std::string program = folder.path() / "program";
  std::vector<std::string> compile{
      "g++", "-std=c++20", "-I" INSTR_SOURCE_DIR, INSTR_SOURCE_DIR "/tests/cuda_host/program.cpp",
      "-o",  program};
  std::string preload = "LD_PRELOAD=";
  for (const fs::path& library : built) {
    compile.push_back(library);
    preload += library.string() + ":";
  }
  run(compile);
  EXPECT_GOLDEN("cuda_host/program.txt", run({"env", preload, program}));

  // The program's needs are read from its ELF file.
  fs::create_directory(folder.path() / "lib");
  fs::rename(program, folder.path() / "lib/libprogram.so");
  const auto needed = find_cuda_libraries(folder.path() / "lib");
  const auto runtime = std::find_if(needed.begin(), needed.end(), [](const CudaLibrary& library) {
    return library.soname == "libcudart.so.13";
  });
  ASSERT_NE(runtime, needed.end());
  EXPECT_EQ(runtime->version, "libcudart.so.13");
  EXPECT_EQ(runtime->functions.front(), "__cudaRegisterFunction");
}

TEST(CudaHost, StandInsOfCuda12AreComplete) {
  const TemporaryFolder folder;
  EXPECT_EQ(build("torch-2.8.0", {.cuda = 12080, .cudnn = 91002}, folder.path()).size(), 15u);
}

TEST(CudaHost, UnknownVersionIsAnError) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_text(build_cuda_host({kSources, "g++", folder.path()}, {}, {}, {})),
            "LibTorch does not say for which CUDA it was built: neither its version.py nor its "
            "build-version ends with a version such as +cu130: use a LibTorch from PyPI or "
            "pytorch.org");
}

TEST(CudaHost, StubsReportTheirName) {
  EXPECT_EQ(generate_cuda_stubs({"libnccl.so.2", "", {"ncclAllReduce", "ncclGetErrorString"}}),
            "#include \"record.h\"\n"
            "CUDA_UNSUPPORTED(ncclAllReduce, 5)\n"
            "CUDA_TEXT(ncclGetErrorString)\n");
  EXPECT_EQ(generate_cuda_stubs({"libcusolver-0a1b2c3d.so.11", "", {"cusolverDnCreate"}}),
            "#include \"record.h\"\n"
            "CUDA_UNSUPPORTED(cusolverDnCreate, 9)\n");
}

TEST(CudaHost, VersionsAreReadFromThePackage) {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "site-packages";
  fs::create_directories(root / "torch/lib");
  fs::create_directories(root / "torch-2.8.0.dist-info");
  EXPECT_EQ(read_cuda_versions(root / "torch/lib").cuda, 0);
  std::ofstream(root / "torch/version.py") << "__version__ = '2.8.0+cu128'\n";
  std::ofstream(root / "torch-2.8.0.dist-info/METADATA")
      << "Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == \"Linux\"\n";
  EXPECT_EQ(read_cuda_versions(root / "torch/lib").cuda, 12080);
  EXPECT_EQ(read_cuda_versions(root / "torch/lib").cudnn, 91002);
}

}  // namespace
}  // namespace instr::cuda_host_test
