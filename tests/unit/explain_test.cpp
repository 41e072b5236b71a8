#include "core/report/explain.h"

#include <gtest/gtest.h>

#include "core/base/format.h"

namespace instr {
namespace {

Counted counted() {
  Counted made;
  made.metrics = {{"ir", 1000}};
  made.functions = {{"at::mm(at::Tensor const&)", "libtorch_cpu.so", 600, 2},
                    {"0x00001234", "libtorch_cpu.so", 150, 1},
                    {"free", "worker", 100, 4.5},
                    {"0x00005678", "libtorch_cpu.so", 50, 1},
                    {"malloc", "worker", 80, 4}};
  return made;
}

TEST(Explain, TheDearestFirstAndAllAddUpToTheCount) {
  EXPECT_EQ(
      explain_text("a/b", counted(), {}),
      "a/b: 1,000 instructions for each iteration\n\n"
      "  instructions    share   so far     calls  function\n"
      "           600   60.00%   60.00%         2  at::mm(at::Tensor const&)  libtorch_cpu.so\n"
      "           200   20.00%   80.00%         2  libtorch_cpu.so: code without symbols\n"
      "           100   10.00%   90.00%       4.5  free  worker\n"
      "            80    8.00%   98.00%         4  malloc  worker\n"
      "            20    2.00%  100.00%            in no function\n");
}

TEST(Explain, TheRestIsOneLine) {
  ExplainOptions options;
  options.most_functions = 1;
  EXPECT_EQ(
      explain_text("a/b", counted(), options),
      "a/b: 1,000 instructions for each iteration\n\n"
      "  instructions    share   so far     calls  function\n"
      "           600   60.00%   60.00%         2  at::mm(at::Tensor const&)  libtorch_cpu.so\n"
      "           400   40.00%  100.00%            3 other functions\n");
}

TEST(Explain, WithoutFunctionsOrInstructions) {
  Counted nothing;
  nothing.metrics = {{"ir", 0}};
  EXPECT_EQ(explain_text("a\nb", nothing, {}),
            "a b: 0 instructions for each iteration\n\n"
            "  instructions    share   so far     calls  function\n");
}

}  // namespace
}  // namespace instr
