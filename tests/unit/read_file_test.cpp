#include "core/base/read_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/base/process.h"
#include "tests/testing.h"

namespace instr::read_file_test {
namespace {

using namespace testing;

class ReadFile : public ::testing::Test {
 protected:
  fs::path file(const std::string& text) const { return folder_.write("file", text); }

  TemporaryFolder folder_;
};

std::string what_of(const fs::path& path, std::size_t max = 10, ReadFrom from = ReadFrom::kFiles) {
  auto bytes = read_file(path, max, from);
  if (bytes) return "no error";
  EXPECT_EQ(bytes.error().where.file, path.string());
  EXPECT_FALSE(bytes.error().advice.empty());
  return bytes.error().what;
}

TEST_F(ReadFile, ReadsAllBytesUpToTheLimit) {
  EXPECT_EQ(read_file(file(""), 10), "");
  EXPECT_EQ(read_file(file(std::string("a\0\n\xff", 4)), 4), std::string("a\0\n\xff", 4));
  const std::string long_text(300'000, 'x');
  EXPECT_EQ(read_file(file(long_text), 300'000), long_text);
  EXPECT_EQ(what_of(file(std::string((2 << 20) + 1, 'x')), 2 << 20), "is larger than 2 MiB");
  // Files in /proc report a size of 0.
  EXPECT_FALSE(read_file("/proc/self/maps", std::size_t{1} << 20)->empty());
}

TEST_F(ReadFile, RefusesOtherThanRegularFiles) {
  EXPECT_EQ(what_of(folder_.path() / "none"), "cannot be read: No such file or directory");
  EXPECT_EQ(what_of(file("") / "none"), "cannot be read: Not a directory");
  EXPECT_EQ(what_of(folder_.path()), "is a folder");
  for (const char* device : {"/dev/zero", "/dev/null", "/dev/random"}) {
    EXPECT_EQ(what_of(device, 10, ReadFrom::kFilesAndPipes), "is not a regular file") << device;
  }
  const fs::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(what_of(pipe), "is not a regular file");
}

// A descriptor's name with a slow writer, as from a shell's <(...).
TEST_F(ReadFile, ReadsAPipeToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const std::string text(200'000, 'y');
  const fs::path name = "/proc/self/fd/" + std::to_string(ends[0]);
  std::jthread writer([&text, end = ends[1]] {
    Fd fd(end);
    for (std::size_t at = 0; at < text.size();) {
      at += static_cast<std::size_t>(::write(end, text.data() + at, text.size() - at));
    }
  });
  EXPECT_EQ(read_file(name, 1 << 20, ReadFrom::kFilesAndPipes), text);
  writer.join();
  EXPECT_EQ(read_file(name, 1 << 20, ReadFrom::kFilesAndPipes), "");  // it has no writer any more
}

TEST_F(ReadFile, ReadsAPipeUpToTheLimit) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  ASSERT_EQ(::write(ends[1], "12345678901", 11), 11);
  const fs::path name = "/proc/self/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(what_of(name, 10, ReadFrom::kFilesAndPipes), "is larger than 0 MiB");
}

}  // namespace
}  // namespace instr::read_file_test
