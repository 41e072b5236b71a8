#include "core/base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/testing.h"

namespace instr::output_file_test {
namespace {

using namespace testing;

constexpr FileKind kNotes{"notes",
                          [](std::string_view start) { return start.starts_with("note"); }};

class OutputFileTest : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_ / name; }

  std::string error_of(const fs::path& file) const {
    return error_text(OutputFile::open(file, kNotes));
  }

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  TemporaryFolder folder_;
};

TEST_F(OutputFileTest, AcceptsNewEmptyAndMatchingFiles) {
  EXPECT_EQ(error_of(path("new")), "no error");
  EXPECT_EQ(entries(), 0u);  // checking creates nothing
  folder_.write("empty");
  folder_.write("note", "note: x");
  folder_.write("other", "other");
  EXPECT_EQ(error_of(path("empty")), "no error");
  EXPECT_EQ(error_of(path("note")), "no error");
  EXPECT_EQ(error_of(path("other")), path("other").string() +
                                         ": does not hold notes: name another file, or "
                                         "remove this one");
}

TEST_F(OutputFileTest, FollowsLinks) {
  folder_.write("other", "other");
  fs::create_symlink("other", path("link"));
  fs::create_symlink(path("link"), path("second"));
  EXPECT_NE(error_of(path("second")), "no error");
  fs::create_symlink("new", path("dangling"));
  auto opened = value_of(OutputFile::open(path("dangling"), kNotes));
  EXPECT_EQ(opened.path(), path("new"));
  fs::create_symlink("circle", path("circle"));
  EXPECT_NE(error_of(path("circle")), "no error");
}

TEST_F(OutputFileTest, RefusesUnwritableFiles) {
  EXPECT_HAS(error_of(folder_.path()), "cannot write: Is a directory");
  EXPECT_EQ(error_of(path("no/file")),
            path("no").string() +
                ": there is no such folder: make it first, or name a file in "
                "another one");
  EXPECT_HAS(error_of(path(std::string(300, 'x'))), "File name too long");
  EXPECT_HAS(error_of("/proc/version"), "/proc/version: cannot write: ");
  const fs::path pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(pipe),
            pipe.string() + ": cannot write: this pipe has no reader: start its reader first");
  const Fd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(error_of(pipe), "no error");
  EXPECT_EQ(error_of("/dev/null"), "no error");
}

TEST_F(OutputFileTest, WritesToADescriptorOfThisProcess) {
  const Fd fd(::open(path("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(fd.get(), "table\n", 6), 6);
  auto opened = value_of(OutputFile::open("/proc/self/fd/" + std::to_string(fd.get()), kNotes));
  EXPECT_FALSE(opened.is_regular());
  const Fd again = opened.take_stream();
  ASSERT_EQ(::write(again.get(), "more\n", 5), 5);
  EXPECT_EQ(fs::file_size(path("file")), 11u);
  const Fd readable(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_NE(error_of("/dev/fd/" + std::to_string(readable.get())), "no error");
}

TEST_F(OutputFileTest, AReplacementThatIsNotPutChangesNothing) {
  folder_.write("note", "note: old");
  {
    auto made = Replacement::write(path("note"), "note: new");
    ASSERT_TRUE(made);
    auto second = value_of(Replacement::write(path("note"), "note: other"));
    ASSERT_TRUE(second.put());
  }
  EXPECT_EQ(text_of(path("note")), "note: other");
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace instr::output_file_test
