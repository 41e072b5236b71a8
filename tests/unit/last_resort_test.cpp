#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "core/base/program_end.h"

namespace instr::last_resort_test {
namespace {

TEST(LastResort, ReportsAnExceptionInALineAndAStatus) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(with_last_resort(2, [] { return 3; }), 3);
  EXPECT_EQ(with_last_resort(2, []() -> int { throw std::bad_alloc(); }), 2);
  EXPECT_EQ(with_last_resort(132, []() -> int { throw std::runtime_error("why"); }), 132);
  EXPECT_EQ(with_last_resort(2, []() -> int { throw 5; }), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "error: there is not enough memory\n"
            "error: internal error: please report it: why\n"
            "error: internal error: please report it\n");
}

TEST(LastResort, ReportsAnExceptionInAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(with_last_resort(2,
                               [] {
                                 std::thread([] { throw std::runtime_error("why"); }).join();
                                 return 0;
                               }),
              ::testing::ExitedWithCode(2), "error: internal error: please report it: why");
}

}  // namespace
}  // namespace instr::last_resort_test
