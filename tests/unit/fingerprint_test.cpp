#include "core/results/fingerprint.h"

#include <dlfcn.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/measure/loaded_files.h"
#include "core/results/results_file.h"
#include "core/run/tools.h"
#include "tests/testing.h"

namespace instr::fingerprint_test {
namespace {

using namespace testing;

// Reads a fingerprint as from a results file.
Expected<Fingerprint> read_back(const std::string& json) {
  return parse_results("{\"schema\":3,\"fingerprint\":" + json + "}\n", "r", Incomplete::kAllowed)
      .map([](const Results& results) { return results.header.fingerprint; });
}

Fingerprint example(std::map<std::string, std::string> worker) {
  LibTorch libtorch;
  libtorch.version = "2.13.0";
  libtorch.build_id = "abc123";
  Toolchain toolchain;
  toolchain.version = "clang version 14";
  toolchain.flags = {"-O2", "-isystem", "/opt/torch/include", "-I/usr/include", "-DFAST=1"};
  toolchain.link_flags = {"-L/opt/torch/lib", "-ltorch", "-Wl,-rpath,/opt/torch/lib"};
  return make_fingerprint(libtorch, toolchain, "valgrind-3.19.0", worker);
}

TEST(Fingerprint, HasEverythingThatMayChangeACount) {
  Fingerprint fingerprint =
      example({{"cpu_capability", "AVX2"}, {"version", "1"}, {"machine", "77"}});
  Fingerprint::Entries expected{
      {"libtorch_version", "2.13.0"},
      {"libtorch_build_id", "abc123"},
      {"compiler", "clang version 14"},
      {"flags", "-O2 -DFAST=1"},
      {"link_flags", "-ltorch"},
      {"valgrind", "valgrind-3.19.0"},
      {"simulated_caches", "I1 32768,8,64, D1 32768,8,64, LL 8388608,16,64"},
      {"cpu_capability", "AVX2"},
      {"worker_version", "1"}};
  EXPECT_EQ(fingerprint.entries, expected);
  EXPECT_EQ(fingerprint.get("cpu_capability"), "AVX2");
  EXPECT_EQ(fingerprint.get("nothing"), "");
}

TEST(Fingerprint, GpuModelsAreThoseThatTheirDriverLists) {
  TemporaryFolder folder;
  const auto add = [&](const std::string& gpu, const std::string& model) {
    folder.write(gpu + "/information",
                 "Model: \t\t " + model + "\nIRQ:   \t\t 16\nGPU UUID: \t GPU-1\n");
  };
  add("0000:01:00.0", "NVIDIA H200");
  add("0000:02:00.0", "NVIDIA H200");
  EXPECT_EQ(gpu_models(folder.path()), "NVIDIA H200");
  add("0000:03:00.0", "NVIDIA L4");
  EXPECT_EQ(gpu_models(folder.path()), "NVIDIA H200, NVIDIA L4");
  EXPECT_EQ(gpu_models(folder.path() / "missing"), "");
}

TEST(Fingerprint, NamesAreUnique) {
  Fingerprint fingerprint = example({{"valgrind", "other"}, {"libtorch_version", "2.13.0+cpu"}});
  EXPECT_EQ(fingerprint.get("valgrind"), "valgrind-3.19.0");
  EXPECT_EQ(fingerprint.entries.size(), 7u);
}

TEST(Fingerprint, SurvivesJson) {
  Fingerprint fingerprint{{{"b", "2"}, {"a", "quote\" tab\t ü"}}, {{"kernel", "Linux 6"}}};
  EXPECT_EQ(to_json(fingerprint).dump(),
            R"({"b":"2","a":"quote\" tab\t ü","machine":{"kernel":"Linux 6"}})");
  auto back = value_of(read_back(to_json(fingerprint).dump()));
  EXPECT_EQ(back.entries, fingerprint.entries);
  EXPECT_EQ(back.machine, fingerprint.machine);
}

TEST(Fingerprint, HundredsOfLibrariesSurviveJson) {
  Fingerprint fingerprint =
      example({{"library libc.so.6", "cc"}, {"timed_library libc.so.6", "dd"}});
  for (int i = 0; i < 500; ++i) {
    fingerprint.entries.emplace_back("libtorch_library lib" + std::to_string(i) + ".so", "id");
  }
  auto json = to_json(fingerprint);
  EXPECT_EQ(json["libraries"][0].dump(), R"(["library libc.so.6","cc"])");
  EXPECT_LT(json.size(), 20U);
  EXPECT_EQ(value_of(read_back(json.dump())).entries, fingerprint.entries);
  EXPECT_EQ(read_back(R"({"libraries":[1,["a"],["library a",2]],"x":"y"})")->entries,
            (Fingerprint::Entries{{"library a", "2"}, {"x", "y"}}));
}

TEST(Fingerprint, ReadsValuesThatAreNotText) {
  auto back = value_of(read_back(R"({"new":[1,2],"machine":"odd","n":3})"));
  EXPECT_EQ(back.entries, (Fingerprint::Entries{{"new", "[1,2]"}, {"n", "3"}}));
  EXPECT_FALSE(read_back("[1]"));
}

// --- Loaded libraries ---

constexpr const char* kMaps =
    "58000000-58280000 r-xp 00001000 08:01 77  /usr/libexec/valgrind/callgrind-amd64-linux\n"
    "04000000-04020000 r-xp 00001000 08:01 11 /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n"
    "04860000-04870000 r--p 00000000 08:01 12                 /usr/lib/blas/libblas.so.3.11.0\n"
    "04870000-04890000 r-xp 00010000 08:01 12                 /usr/lib/blas/libblas.so.3.11.0\n"
    "04890000-048a0000 r-xp 00020000 08:01 12                 /usr/lib/blas/libblas.so.3.11.0\n"
    "04900000-04910000 r--p 00000000 08:01 13                         /usr/lib/data.so.mo\n"
    "04920000-04930000 rwxp 00000000 00:00 0 \n"
    "04930000-04940000 r-xp 00000000 08:01 14 /usr/libexec/valgrind/vgpreload_core-amd64-linux.so\n"
    "04940000-04950000 r-xp 00000000 08:02 15 /opt/my torch/lib/libtorch_cpu.so\n"
    "04950000-04960000 r-xp 00000000 08:02 16 /opt/my torch/lib/libgomp-a3.so.1 (deleted)\n"
    "7ffd0000-7ffd2000 r-xp 00000000 00:00 0                            [vdso]\n"
    "half a li";

TEST(LoadedLibraries, AreThoseOfWhichCodeIsMapped) {
  std::vector<std::string> found;
  for (const MappedFile& library : mapped_libraries(kMaps)) {
    found.push_back(library.path.string() + " " + library.inode);
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 08:01 11",
                                      "/usr/lib/blas/libblas.so.3.11.0 08:01 12",
                                      "/opt/my torch/lib/libtorch_cpu.so 08:02 15",
                                      "/opt/my torch/lib/libgomp-a3.so.1 (deleted) 08:02 16"}));
}

TEST(LoadedLibraries, AreNamedWithoutTheirMinorVersion) {
  EXPECT_EQ(library_name("/usr/lib/libblas.so.3.11.0"), "libblas.so.3");
  EXPECT_EQ(library_name("libstdc++.so.6.0.30"), "libstdc++.so.6");
  EXPECT_EQ(library_name("libc.so.6"), "libc.so.6");
  EXPECT_EQ(library_name("libc10.so"), "libc10.so");
  EXPECT_EQ(library_name("libgomp-a3.so.1 (deleted)"), "libgomp-a3.so.1");
  EXPECT_EQ(library_name("libgomp.so (deleted)"), "libgomp.so");
}

// A file that is no longer readable differs from all others.
TEST(LoadedLibraries, LibrariesInLibTorchsFolderAreItsOwn) {
  auto fields = library_fields({{"/opt/torch/lib/libtorch_cpu.so", "1 1"},
                                {"/opt/torch/lib/libgomp-a3.so.1", "1 2"},
                                {"/nowhere/libc.so.6", "1 3"},
                                {"/nowhere/libblas.so.3", "1 4"}});
  EXPECT_EQ(fields,
            (std::map<std::string, std::string>{{"libtorch_library libgomp-a3.so.1", "inode 1 2"},
                                                {"library libc.so.6", "inode 1 3"},
                                                {"library libblas.so.3", "inode 1 4"}}));
  // The system's LibTorch is known only by its names.
  fields = library_fields({{"/nowhere/libtorch_cpu.so", "1 1"},
                           {"/nowhere/libc.so.6", "1 3"},
                           {"/nowhere/libc10.so.1.13", "1 5"},
                           {"/nowhere/libblas.so.3", "1 4"}});
  EXPECT_EQ(fields,
            (std::map<std::string, std::string>{{"libtorch_library libc10.so.1", "inode 1 5"},
                                                {"library libc.so.6", "inode 1 3"},
                                                {"library libblas.so.3", "inode 1 4"}}));
}

TEST(LoadedLibraries, WithoutABuildIdTheContentCounts) {
  const TemporaryFolder folder;
  auto id_of = [&](const std::string& content) {
    const fs::path file = folder.write("libx.so.1", content);
    return library_fields({{file, "1 1"}}).at("library libx.so.1");
  };
  EXPECT_NE(id_of("a"), id_of("b"));
  EXPECT_EQ(id_of("a"), id_of("a"));
  EXPECT_EQ(id_of("a").find("inode"), std::string::npos);
}

}  // namespace
}  // namespace instr::fingerprint_test
