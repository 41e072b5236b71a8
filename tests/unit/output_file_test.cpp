#include "core/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "core/base/file_lock.h"
#include "core/base/process.h"
#include "core/base/read_file.h"
#include "tests/labels.h"
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

// --- Locks ---

const RunsUnder kThreadSanitizer("thread", "FileLockTest.*");

class FileLockTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "lock";
};

TEST_F(FileLockTest, ExcludesOthers) {
  auto shared = FileLock::attempt(file_, LockKind::kShared);
  ASSERT_TRUE(shared && *shared);
  auto second = FileLock::attempt(file_, LockKind::kShared);
  EXPECT_TRUE(second && *second);
  auto alone = value_of(FileLock::attempt(file_, LockKind::kExclusive));
  EXPECT_FALSE(alone);
  shared->reset();
  second->reset();
  EXPECT_TRUE(FileLock::wait(file_, LockKind::kExclusive, {}));
}

TEST_F(FileLockTest, AnUnreadableFileIsAnErrorWithoutWaiting) {
  EXPECT_FALSE(FileLock::attempt(folder_.path(), LockKind::kShared));
  EXPECT_FALSE(FileLock::wait(folder_.path() / "no" / "file", LockKind::kShared, {}));
}

TEST_F(FileLockTest, AWaitIsReportedOnceAndEndsOnRequest) {
  auto held = FileLock::attempt(file_, LockKind::kExclusive);
  std::stop_source stop;
  int said = 0;
  auto waited = FileLock::wait(file_, LockKind::kShared, {stop.get_token(), [&] {
                                                            ++said;
                                                            stop.request_stop();
                                                          }});
  EXPECT_FALSE(waited);
  EXPECT_EQ(said, 1);
}

TEST_F(FileLockTest, AFolderIsLockedItselfAndStaysEmpty) {
  const auto folder = folder_.path() / "files";
  EXPECT_FALSE(FileLock::wait_for_folder(folder, LockKind::kShared, {})) << "it is not there";
  std::filesystem::create_directory(folder);
  auto held = FileLock::wait_for_folder(folder, LockKind::kShared, {});
  ASSERT_TRUE(held);
  EXPECT_TRUE(FileLock::wait_for_folder(folder, LockKind::kShared, {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(FileLock::wait_for_folder(folder, LockKind::kExclusive, {stop.get_token()}));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

// --- Reading ---

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
}  // namespace instr::output_file_test
