#include "core/run/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/base/format.h"
#include "core/base/process.h"
#include "tests/golden.h"
#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::progress_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "Progress.*:ProgressLine.*");

Measurement counted(const std::string& key, double ir) {
  Measurement made = testing::counted(key, ir);
  made.seconds = 0.04;
  return made;
}

ProgressView view() {
  const ProgressView view{
      .total = 95,
      .done = 37,
      .elapsed = 12.34,
      .left = 20.4,
      .running = {"matmul/mm/n=64/eager/forward/t1/cpu", "nn/Linear/eager/forward/t1/cpu"}};
  return view;
}

TEST(ProgressLine, ContainsTheKnownParts) {
  std::string text = progress_line(view(), 80, false) + "\n";
  ProgressView shown{.elapsed = 3, .phase = "building the worker"};
  text += progress_line(shown, 80, false) + "\n";
  shown.total = 95;
  text += progress_line(shown, 80, false) + "\n";
  shown.failed = 2;
  shown.elapsed = 125;
  shown.left = 3700;
  shown.phase = "";
  text += progress_line(shown, 80, false) + "\n";
  shown = view();
  shown.step = "verifying";
  text += progress_line(shown, 80, false) + "\n";
  shown = view();
  shown.running = {"control\x1b[2J\ncharacters"};
  text += progress_line(shown, 80, false) + "\n";
  for (const std::size_t width : {40U, 36U}) {  // seven columns of a key are too few
    text += progress_line(view(), width, false) + "\n";
  }
  EXPECT_GOLDEN("progress/lines.txt", text);
}

TEST(ProgressLine, FitsEveryWidth) {
  for (std::size_t width = 1; width < 100; ++width) {
    std::string line = progress_line(view(), width, false);
    EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(FinishedLine, HasTheOutcome) {
  Measurement odd = counted("odd", 1);
  std::get<Counted>(odd.outcome).steady = false;
  std::get<Counted>(odd.outcome).gated = false;
  Measurement skipped;
  skipped.variant.key = "skipped";
  skipped.outcome = Skipped{"no CUDA"};
  std::string text;
  for (const Measurement& measurement :
       {counted("a/b", 112313), odd, failed("crashed", FailureKind::kCrashed, "signal 11\nmore"),
        failed("exited", FailureKind::kExited, ""), skipped}) {
    text += finished_line(measurement) + "\n";
  }
  EXPECT_GOLDEN("progress/finished_lines.txt", text);
}

// A pipe that captures the output.
class Capture {
 public:
  Capture() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_ = Fd(ends[0]);
    write_ = Fd(ends[1]);
  }
  int fd() const { return write_.get(); }
  std::string text() {
    char buffer[4096];
    for (ssize_t count; (count = read(read_.get(), buffer, sizeof buffer)) > 0;) {
      text_.append(buffer, static_cast<std::size_t>(count));
    }
    return text_;
  }
  void wait_for(const std::string& part) {
    for (int tries = 0; text().find(part) == std::string::npos; ++tries) {
      ASSERT_LT(tries, 24'000) << "this never came: " << part << "\nbut: " << text_;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  Fd read_;
  Fd write_;
  std::string text_;
};

void use(Progress& progress) {
  progress.phase("building the worker");
  progress.expect(2);
  progress.started("a");
  progress.finished(counted("a", 5));
  progress.add_line("a note");
  progress.started("b");
  progress.finished(failed("b", FailureKind::kExited, "status 3"));
  progress.finish();
}

TEST(Progress, DoesNotCountSkippedVariants) {
  Capture capture;
  Progress progress({capture.fd(), {}, Verbosity::kVerbose});
  progress.expect(2);
  Measurement skipped = counted("skipped", 0);
  skipped.outcome = Skipped{"no CUDA"};
  progress.finished(skipped);
  progress.started("a");
  progress.finished(counted("a", 5));
  progress.finish();
  EXPECT_HAS(capture.text(), "[1/1] a ");
}

TEST(Progress, ShowsAllPhasesThatGoOn) {
  Capture capture;
  Progress progress({capture.fd(), {}, Verbosity::kNormal, std::chrono::milliseconds(0)});
  progress.measuring("measuring");
  const Phase compiling = progress.begin("compiling");
  {
    const Phase starting = progress.begin("starting");
    const Phase same = progress.begin("starting");
    capture.wait_for("compiling and starting\n");
  }
  capture.wait_for("starting\ncompiling\n");
}

TEST(Progress, IsQuietInAPipe) {
  Capture capture;
  Progress progress({capture.fd(), {}, Verbosity::kNormal});
  use(progress);
  EXPECT_EQ(capture.text(), "a note\n");
}

ProgressOptions in_pipe(int fd) {
  ProgressOptions options{fd, {}, Verbosity::kNormal};
  options.phase_after = options.line_every = options.sum_after = std::chrono::milliseconds(0);
  return options;
}

TEST(Progress, ReportsPhasesAndProgressInAPipe) {
  Capture capture;
  Progress progress(in_pipe(capture.fd()));
  progress.phase("building the worker");
  capture.wait_for("building the worker\n");
  progress.expect(2);
  progress.started("a");
  progress.finished(counted("a", 5));
  progress.started("b");
  capture.wait_for("[1/2] ");
  capture.wait_for("  b\n");
  progress.finished(counted("b", 5));
  progress.measuring("timing");
  capture.wait_for("  timing\n");
  progress.finish();
  const std::string text = capture.text();
  const std::string end = text.substr(text.rfind("took "));
  EXPECT_TRUE(text.ends_with("\n"));
  for (const char* what : {"building the worker", "counting", "timing"}) {
    EXPECT_HAS(end, what);
  }
}

TEST(Progress, SumsUpTheTimeByPhase) {
  EXPECT_EQ(time_spent_line(47.7, {{"starting", 12.14}, {"a moment", 0.4}, {"counting", 35}}),
            "took 47.7 s: 12.1 s starting; 35.0 s counting");
  EXPECT_EQ(time_spent_line(6, {}), "took 6.0 s");
  EXPECT_EQ(time_spent_line(10, {{"compiling", 8}, {"starting", 7}}),
            "took 10.0 s, in part simultaneously: 8.0 s compiling; 7.0 s starting");
}

TEST(Costs, AreOfTheLastMeasurement) {
  TemporaryFolder folder;
  const auto file = folder.path() / "costs";
  Costs costs = Costs::read(file);
  EXPECT_EQ(costs.of("a", Work::kCount), 1);
  costs.learn(counted("a", 5));
  costs.learn(failed("b", FailureKind::kTimedOut, ""));
  costs.write(file);
  Costs read = Costs::read(file);
  EXPECT_EQ(read.of("a", Work::kCount), 0.04);
  EXPECT_EQ(read.of("b", Work::kCount), 0);
  EXPECT_EQ(read.of("c", Work::kCount), 0.02) << "the average";
  EXPECT_EQ(read.of("a", Work::kTime), 0.02);
  write(file, "nan count a\n-1 count a\n3count a\n\n2 \n0.5 count d");
  EXPECT_EQ(Costs::read(file).of("d", Work::kCount), 0.5);
  EXPECT_EQ(Costs::read(file).of("a", Work::kCount), 0.5);
}

TEST(Progress, VerboseWritesALineForEachMeasurement) {
  Capture capture;
  Progress progress({capture.fd(), {}, Verbosity::kVerbose});
  use(progress);
  EXPECT_EQ(capture.text(), "[1/2] a  5 instructions, 0.04 s\na note\n[2/2] b  exited: status 3\n");
}

TEST(Progress, QuietPrintsNothing) {
  Capture capture;
  Progress progress({capture.fd(), {true, false, true, 80}, Verbosity::kQuiet});
  use(progress);
  progress.print(capture.fd(), "asked for\n");
  EXPECT_EQ(capture.text(), "asked for\n");
}

TEST(Progress, DrawsAndErasesTheLiveLine) {
  Capture capture;
  {
    Progress progress({capture.fd(), {true, false, true, 60}, Verbosity::kNormal});
    progress.phase("building the worker");
    capture.wait_for("building the worker\x1b[K");
    progress.expect(2);
    progress.started("a");
    progress.finished(counted("a", 5));
    progress.started("b");
    capture.wait_for("[1/2] ");
    capture.wait_for("  b\x1b[K");
    progress.finished(counted("b", 5));
    // The phase is over once something was measured.
    capture.wait_for(" s\x1b[K");
    progress.expect(2);
    progress.finished(counted("a", 5));
    progress.add_line("a note");
    EXPECT_HAS(capture.text(), "\r\x1b[Ka note\n");
    progress.finished(failed("b", FailureKind::kExited, ""));
    capture.wait_for("[2/2] 1 failed");
  }
  EXPECT_TRUE(capture.text().ends_with("\r\x1b[K"));
}

TEST(Progress, DrawsNothingAfterTheEnd) {
  Capture capture;
  Progress progress({capture.fd(), {true, false, true, 60}, Verbosity::kVerbose});
  progress.phase("phase");
  capture.wait_for("phase\x1b[K");
  progress.finish();
  std::string before = capture.text();
  progress.finished(counted("late", 1));
  progress.finish();
  EXPECT_EQ(capture.text(), before);
}

TEST(Progress, ManyThreads) {
  Capture capture;
  Progress progress({capture.fd(), {}, Verbosity::kVerbose});
  progress.expect(80);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&progress] {
        for (int i = 0; i < 20; ++i) {
          progress.started("key");
          progress.finished(counted("key", 1));
        }
      });
    }
  }
  EXPECT_EQ(wrap(capture.text(), 0).size(), 80u);
  EXPECT_HAS(capture.text(), "[80/80] key  1 instructions, 0.04 s\n");
}

}  // namespace
}  // namespace instr::progress_test
