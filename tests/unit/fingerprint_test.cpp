#include "core/results/fingerprint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  auto back = value_of(read_back(json.dump()));
  EXPECT_EQ(back.entries, fingerprint.entries);
  EXPECT_EQ(read_back(R"({"libraries":[1,["a"],["library a",2]],"x":"y"})")->entries,
            (Fingerprint::Entries{{"library a", "2"}, {"x", "y"}}));
}

TEST(Fingerprint, ReadsValuesThatAreNotText) {
  auto back = value_of(read_back(R"({"new":[1,2],"machine":"odd","n":3})"));
  EXPECT_EQ(back.entries, (Fingerprint::Entries{{"new", "[1,2]"}, {"n", "3"}}));
  EXPECT_FALSE(read_back("[1]"));
}

}  // namespace
}  // namespace instr::fingerprint_test
