// `watch`: saved definitions are counted again, and shown with the previous count. Errors do not
// end it.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::watch_test {
namespace {

const RunsUnder kThreadSanitizer("thread", "Watch.*");

using namespace std::chrono_literals;

class Watched {
 public:
  explicit Watched(const fs::path& definitions) {
    auto options = command({"watch", "--definitions=" + definitions.string()});
    Fd out(open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    Fd errors(open(errors_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    options.descriptors = {{out.get(), 1}, {errors.get(), 2}};
    program_ = value_of(Process::spawn(options));
  }

  // Waits until these words appear on standard output or standard error.
  bool says(const std::string& words) { return comes(output_, words); }
  bool complains(const std::string& words) { return comes(errors_, words); }

  int interrupt() {
    kill(program_->pid(), SIGINT);
    return program_->wait();
  }

  std::string output() const { return text_of(output_); }
  std::string errors() const { return text_of(errors_); }

 private:
  bool comes(const fs::path& file, const std::string& words) {
    while (text_of(file).find(words) == std::string::npos) {
      if (program_->wait_for(50ms)) return false;
    }
    return true;
  }

  TemporaryFolder folder_;
  fs::path output_ = folder_.path() / "out", errors_ = folder_.path() / "err";
  std::optional<Process> program_;
};

std::string nops(int count) {
  return "schema = 1\n[[benchmark]]\nlabel = \"watched\"\nstmt = 'asm volatile(\".rept " +
         std::to_string(count) + "\\n nop\\n .endr\");'\n";
}

TEST(Watch, CountsSavedDefinitionsAgainAndSurvivesErrors) {
  TemporaryFolder folder;
  fs::path file = folder.path() / "w.toml";
  write(file, nops(1000));
  Watched watch(file);
  ASSERT_TRUE(watch.says("watched/eager/forward/t1/cpu  1,000\n")) << watch.errors();
  ASSERT_TRUE(watch.complains("watching"));
  write(file, nops(1200) + "[[benchmark\n");
  ASSERT_TRUE(watch.complains("w.toml:5:")) << watch.errors();
  write(file, nops(1200));
  ASSERT_TRUE(watch.says("1,200  was 1,000  +200 (+20.00%)")) << watch.output() << watch.errors();
  int status = watch.interrupt();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(stray_processes().empty());
}

}  // namespace
}  // namespace instr::e2e::watch_test
