#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/measure/loaded_files.h"
#include "tests/testing.h"

namespace instr::used_files_test {
namespace {

using namespace testing;

using namespace std::chrono_literals;

timespec now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

// A copy of cat(1) that runs.
class UsedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy_file(*find_program("cat"), program_);
    std::this_thread::sleep_for(50ms);  // more than the difference of the clocks
    started_ = now();
    ASSERT_EQ(pipe(pipe_), 0);
    SpawnOptions spawn;
    spawn.argv = {program_.string()};
    spawn.descriptors = {{pipe_[0], 0}};
    auto process = Process::spawn(spawn);
    ASSERT_TRUE(process) << to_string(process.error());
    process_ = *std::move(process);
  }

  void TearDown() override {
    close(pipe_[0]);
    close(pipe_[1]);
  }

  UsedFiles used() const { return UsedFiles::of(process_->pid(), {}, started_); }

  TemporaryFolder folder_;
  fs::path program_ = folder_.path() / "cat";
  timespec started_{};
  int pipe_[2] = {-1, -1};
  std::optional<Process> process_;
};

TEST_F(UsedFilesTest, AreUnchanged) { EXPECT_EQ(used().changed(), std::nullopt); }

TEST_F(UsedFilesTest, ReportAReplacedFile) {
  const UsedFiles before = used();
  fs::remove(program_);
  EXPECT_EQ(before.changed(), program_);
  fs::copy_file(*find_program("cat"), program_);
  EXPECT_EQ(before.changed(), program_);
}

TEST_F(UsedFilesTest, ReportAFileReplacedBeforeTheFirstLook) {
  fs::rename(program_, folder_.path() / "old");
  fs::copy_file(*find_program("cat"), program_);
  EXPECT_NE(used().changed(), std::nullopt);
  fs::rename(folder_.path() / "old", program_);
  EXPECT_EQ(used().changed(), program_);
}

TEST_F(UsedFilesTest, ContainPythonModules) {
  const fs::path worker = folder_.path() / "worker.so";
  const fs::path code = folder_.path() / "pycache/proc/self/fd/5/path/0/torch/jit";
  const fs::path module = folder_.path() / "path/0/torch/jit/_script.py";
  fs::create_directories(code);
  fs::create_directories(module.parent_path());
  ASSERT_TRUE(write_text(code / "_script.cpython-311.pyc", "code"));
  ASSERT_TRUE(write_text(module, "text"));
  std::this_thread::sleep_for(50ms);
  const UsedFiles before = UsedFiles::of(process_->pid(), worker, now());
  EXPECT_EQ(before.changed(), std::nullopt);
  ASSERT_TRUE(write_text(module, "another"));
  EXPECT_EQ(before.changed(), module);
}

}  // namespace
}  // namespace instr::used_files_test
