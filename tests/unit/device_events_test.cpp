#include "core/measure/device_events.h"

#include "core/compare/attribution.h"
#include "core/report/comparison_report.h"
#include "tests/testing.h"

namespace instr::device_events_test {
namespace {

using namespace testing;

std::string recorded(const char* file) {
  return read_text(fixture(std::string("cuda_host/") + file)).value();
}

// Recorded from `nn Modules/MaxPool2d/torchscript/forward/t1/cuda` with torch 2.14.1: the operator
// that TorchScript's interpreter calls, through at::native::max_pool2d().
TEST(DeviceEvents, HaveTheOutermostOperator) {
  const auto events = parse_device_events(recorded("events.txt"), recorded("callers.log"));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].caller, "at::_ops::max_pool2d_with_indices");
  EXPECT_TRUE(
      events[0].text.starts_with("launch stream=0 grid=1,1,1 block=256,1,1 shared=0 void "
                                 "at::native::(anonymous namespace)::"
                                 "max_pool_forward_nchw<float, int>("))
      << events[0].text;
  EXPECT_FALSE(reads_back(events[0]));
}

TEST(DeviceEvents, HaveNoCallerIfTheLogHasNone) {
  const auto events = parse_device_events("sync stream=0 cudaStreamSynchronize\n", "part: 0\n");
  EXPECT_EQ(events, (std::vector<DeviceEvent>{{"sync stream=0 cudaStreamSynchronize", ""}}));
}

// Without an operator, the function that called CUDA; a later list replaces an earlier one.
TEST(DeviceEvents, HaveTheFunctionThatCalledCuda) {
  const std::string log =
      "**7** event 0\n==7==    at 0x1: record (in /x/cuda_host/libinstr_cuda_host.so)\n"
      "==7==    by 0x2: at::_ops::add_Tensor::call(at::Tensor const&) (in /t/libtorch_cpu.so)\n"
      "**7** event 0\n==7==    at 0x1: record (in /x/cuda_host/libinstr_cuda_host.so)\n"
      "==7==    by 0x3: c10::cuda::device_synchronize() (CUDAFunctions.cpp:12)\n"
      "==7==    by 0x4: main (in /x/unit)\n";
  const auto events = parse_device_events("sync cudaDeviceSynchronize\n", log);
  EXPECT_EQ(events[0].caller, "c10::cuda::device_synchronize");
  EXPECT_TRUE(reads_back({"copy stream=0 bytes=4 device-to-host", ""}));
  EXPECT_FALSE(reads_back({"copy stream=0 bytes=4 host-to-device", ""}));
}

TEST(DeviceEvents, ChangesAreCountedByEventAndCaller) {
  const DeviceEvent add{"launch stream=0 grid=1,1,1 block=128,1,1 shared=0 void add<float>(int)",
                        "at::_ops::add_Tensor"};
  const DeviceEvent copy{"copy stream=0 bytes=64 device-to-device", "at::_ops::contiguous"};
  const DeviceEvent wait{"sync stream=0 cudaStreamSynchronize", ""};
  Attribution attribution;
  attribution.device = find_device_changes({add, wait}, {add, copy, add, copy});
  EXPECT_EQ(device_lines(attribution, 0),
            (std::vector<std::string>{"+2 copy device-to-device, 64 bytes, by at::_ops::contiguous",
                                      "+1 launch void add<float>(int), by at::_ops::add_Tensor",
                                      "-1 sync cudaStreamSynchronize"}));
  EXPECT_TRUE(find_device_changes({add, copy}, {copy, add}).empty());
}

}  // namespace
}  // namespace instr::device_events_test
