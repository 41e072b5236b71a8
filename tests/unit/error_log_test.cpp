
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/output.h"
#include "tests/testing.h"

namespace instr::error_log_test {
namespace {

using namespace testing;

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
}  // namespace instr::error_log_test
