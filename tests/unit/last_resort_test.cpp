#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "core/base/output.h"
#include "core/base/program_end.h"
#include "tests/testing.h"

namespace instr::last_resort_test {
namespace {

using namespace testing;

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

// --- The log of errors ---

TEST(ErrorLog, KeepsTheLastLines) {
  const Fd errors(dup(STDERR_FILENO));
  const Fd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  dup2(null.get(), STDERR_FILENO);
  auto log = value_of(ErrorLog::start());
  for (int i = 1; i <= 30; ++i) print_message("line " + std::to_string(i) + "\n");
  const std::string end = log->finish();
  dup2(errors.get(), STDERR_FILENO);
  EXPECT_TRUE(end.starts_with("line 11\n")) << end;
  EXPECT_TRUE(end.ends_with("line 30\n")) << end;
  EXPECT_EQ(log->finish(), end);
}

}  // namespace
}  // namespace instr::last_resort_test
