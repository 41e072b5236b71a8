#include "core/run/left_out.h"

#include <algorithm>

#include "tests/testing.h"

namespace instr::left_out_test {
namespace {

using namespace testing;

std::vector<Variant> parse(const std::vector<std::string>& keys) {
  std::vector<Variant> variants;
  for (const std::string& key : keys) variants.push_back(parse_key(key));
  return variants;
}

using Keys = std::vector<std::string>;

const std::string kOnCpu = "b/eager/forward/t1/cpu";
const std::string kInCpp = "d/eager/forward/t1/cpu";
const Keys kOnCuda{"a/eager/forward/t1/cuda", "c/eager/forward/t1/cuda"};
const std::vector<Obstacle> kObstacles{
    {[](const Variant& variant) { return variant.device == "cuda"; },
     {{}, "no CUDA device", "use another machine"}},
    {[](const Variant& variant) { return variant.label == "d"; },
     {{}, "no compiler", "install one"}}};

TEST(LeftOut, ADeviceFileMayBeADevice) {
  for (const char* name : {"nvidia0", "nvidia12", "dxg", "nvgpu", "nvhost-gpu"}) {
    EXPECT_FALSE(has_no_cuda_device({.device_files = {"null", name}})) << name;
  }
  EXPECT_TRUE(has_no_cuda_device({}));
  EXPECT_TRUE(has_no_cuda_device(
      {.device_files = {"null", "nvidia", "nvidiactl", "nvidia-uvm", "nvme0", "kvm"}}));
}

TEST(LeftOut, ADriverThatCreatesDeviceFilesOnFirstUseMayHaveADevice) {
  EXPECT_FALSE(has_no_cuda_device({.can_create_files = true}));
}

TEST(LeftOut, CudaVisibleDevicesMayHideAllDevices) {
  const auto is_hidden = [](const char* visible) {
    return has_no_cuda_device(
        {.device_files = {"nvidia0"}, .can_create_files = true, .visible_devices = visible});
  };
  EXPECT_TRUE(is_hidden(""));
  EXPECT_TRUE(is_hidden("-1"));
  for (const char* visible : {"0", "1,0", "GPU-8932f937", "MIG-1"}) {
    EXPECT_FALSE(is_hidden(visible)) << visible;
    EXPECT_TRUE(has_no_cuda_device({.visible_devices = visible})) << visible;
  }
}

TEST(LeftOut, EachObstacleHasALine) {
  const auto split =
      value_of(leave_out(parse({kOnCuda[0], kOnCpu, kInCpp, kOnCuda[1]}), kObstacles, false));
  EXPECT_EQ(keys_of(split.runnable), Keys{kOnCpu});
  EXPECT_EQ(keys_of(split.left_out), (Keys{kOnCuda[0], kOnCuda[1], kInCpp}));
  EXPECT_EQ(split.note, "no CUDA device: 2 variants left out\nno compiler: 1 variant left out\n");
}

TEST(LeftOut, AnExpectedObstacleHasNoLine) {
  std::vector<Obstacle> obstacles = kObstacles;
  obstacles[0].is_expected = true;
  const auto split = value_of(leave_out(parse({kOnCuda[0], kOnCpu, kInCpp}), obstacles, false));
  EXPECT_EQ(keys_of(split.left_out), (Keys{kOnCuda[0], kInCpp}));
  EXPECT_EQ(split.note, "no compiler: 1 variant left out\n");
}

TEST(LeftOut, WithoutAnObstacleOrVariantsOnCudaNothingIsSaid) {
  const auto all = leave_out(parse({kOnCuda[0], kOnCpu}), {}, false);
  EXPECT_EQ(keys_of(all->runnable), (Keys{kOnCuda[0], kOnCpu}));
  EXPECT_EQ(all->note, "");
  EXPECT_EQ(leave_out(parse({kOnCpu}), kObstacles, false)->note, "");
}

TEST(LeftOut, NothingElseIsAnErrorExceptInAShard) {
  EXPECT_EQ(error_text(leave_out(parse(kOnCuda), kObstacles, false)),
            "no CUDA device: 2 variants left out, and no other is selected: use another machine");
  EXPECT_TRUE(value_of(leave_out(parse(kOnCuda), kObstacles, true)).runnable.empty());
  EXPECT_TRUE(leave_out({}, kObstacles, false));
}

TEST(LeftOut, ALibTorchWithoutCudaIsAnObstacle) {
  const TemporaryFolder folder;
  const fs::path libraries = folder.path() / "lib";
  const fs::path headers = folder.path() / "include/torch/csrc/api/include/torch";
  for (const fs::path& place : {libraries, headers}) fs::create_directories(place);
  for (const fs::path& file : {libraries / "libtorch_cpu.so", headers / "torch.h"}) write(file, "");
  const auto obstacle = [&folder](const CudaTraces& traces) {
    return value_of(find_cuda_obstacle(traces, {.libtorch = folder.path()})).value_or(Error{}).what;
  };
  const CudaTraces device{.device_files = {"nvidia0"}};
  EXPECT_EQ(obstacle(device), "this LibTorch is built without CUDA");
  write(libraries / "libtorch_cuda.so", "");
  EXPECT_EQ(obstacle(device), "");
  EXPECT_EQ(obstacle({}), "no CUDA device");
  EXPECT_FALSE(value_of(find_cuda_obstacle({}, {.libtorch = folder.path(), .host_only = true})));
}

TEST(LeftOut, LibTorchIsNotLookedForWithoutADevice) {
  EXPECT_TRUE(find_cuda_obstacle({}, {.libtorch = "/nonexistent"}));
  EXPECT_FALSE(find_cuda_obstacle({.device_files = {"dxg"}}, {.libtorch = "/nonexistent"}));
}

TEST(LeftOut, ABackendThatChoosesByTimeIsOnlyTimedAndOnlyWhenNamed) {
  Variant variant;
  variant.backend = Backend::kInductor;
  EXPECT_TRUE(is_countable(variant, std::nullopt));
  variant.backend = Backend::kBest;
  EXPECT_FALSE(is_countable(variant, std::nullopt));
  EXPECT_EQ(std::ranges::count(kAllBackends, Backend::kBest), 0);
  EXPECT_EQ(kAllBackends.size() + 1, kBackends.size());
}

TEST(LeftOut, TheHostSideOfCudaIsCountedOnAStandIn) {
  const Variant eager = parse({kOnCuda[0]}).front();
  EXPECT_FALSE(is_countable(eager, std::nullopt));
  EXPECT_TRUE(is_countable(eager, "sm_90"));
  Variant graph = eager;
  graph.backend = Backend::kCudaGraph;  // needs the headers of CUDA's toolkit
  EXPECT_FALSE(is_countable(graph, "sm_90"));
}

TEST(LeftOut, KeysThatAreLeftOutAreNotSelected) {
  const auto is_selected = make_run_selector({.filters = {"^[ab]/"}}, parse(kOnCuda));
  EXPECT_TRUE(is_selected(kOnCpu));
  EXPECT_FALSE(is_selected(kOnCuda[0]));
  EXPECT_FALSE(is_selected("d/eager/forward/t1/cpu"));
}

}  // namespace
}  // namespace instr::left_out_test
