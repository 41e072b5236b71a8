// The memory that the program and its children may use.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "core/base/environment.h"
#include "tests/testing.h"

namespace instr::machine_memory_test {
namespace {

using namespace testing;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

class MachineMemory : public ::testing::Test {
 protected:
  void set(const std::string& file, const std::string& text) {
    const fs::path path = root_.path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::uint64_t limit_of(const std::string& groups) {
    return read_group_limit(groups, root_.path());
  }

  TemporaryFolder root_;
};

TEST_F(MachineMemory, IsTheLeastLimitOfAGroupAndThoseThatItIsIn) {
  set("a/memory.max", "1000");
  set("a/b/memory.max", "max");
  set("a/b/c/memory.max", "2000");
  EXPECT_EQ(limit_of("0::/a/b/c\n"), 1000u);
  EXPECT_EQ(limit_of("0::/\n"), kNoLimit);
}

// In a container, the group's own files are at the root.
TEST_F(MachineMemory, HasTheLimitOfTheRoot) {
  set("memory.max", "4096");
  EXPECT_EQ(limit_of("0::/\n"), 4096u);
  EXPECT_EQ(limit_of("0::/../elsewhere\n"), 4096u);
}

TEST_F(MachineMemory, KnowsTheFirstVersionOfGroups) {
  set("memory/docker/x/memory.limit_in_bytes", "123456");
  EXPECT_EQ(limit_of("12:cpu,cpuacct:/y\n4:memory:/docker/x\n"), 123456u);
}

TEST_F(MachineMemory, IsAtMostThatOfTheMachine) {
  EXPECT_GT(machine_memory(), std::uint64_t{64} << 20);
  EXPECT_EQ(limit_of("no group"), kNoLimit);
}

}  // namespace
}  // namespace instr::machine_memory_test
