#include "core/base/error_log.h"

#include <gtest/gtest.h>

#include "core/base/output.h"
#include "tests/testing.h"

namespace instr::error_log_test {
namespace {

using namespace testing;

TEST(ErrorLog, KeepsTheLastLines) {
  auto log = value_of(ErrorLog::start());
  for (int i = 1; i <= 30; ++i) print_message("line " + std::to_string(i) + "\n");
  const std::string end = log->finish();
  EXPECT_TRUE(end.starts_with("line 11\n")) << end;
  EXPECT_TRUE(end.ends_with("line 30\n")) << end;
  EXPECT_EQ(log->finish(), end);
}

}  // namespace
}  // namespace instr::error_log_test
