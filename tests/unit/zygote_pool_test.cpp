// Tests with a script in Valgrind's place that speaks the worker's protocol.
#include "core/measure/zygote_pool.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/process.h"
#include "core/compile/cache.h"
#include "tests/labels.h"
#include "tests/testing.h"
#include "worker/abi.h"

namespace instr::zygote_pool_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "ZygotePoolTest.*");

// Appends its process number to FILE.starts, and first runs FILE.first if that exists.
constexpr const char* kScript = R"(
import os, socket, time

def serve(link):
    while True:
        line, passed, _, _ = socket.recv_fds(link, 4096, 1)
        if not line:
            os._exit(0)
        words = line.decode().rstrip().split("\t")
        reply = {"warm_up": "warmed_up", "fork": "forked"}[words[0]]
        if passed:
            pid = os.fork()
            if pid == 0:
                link.close()
                return serve(socket.socket(fileno=passed[0]))
            os.close(passed[0])
            reply += f"\tpid={pid}"
        token = next(word for word in words if word.startswith("token="))
        link.send(f"{reply}\t{token}\n".encode())

with open(__file__ + ".starts", "a") as starts:
    print(os.getpid(), file=starts)
if os.path.exists(__file__ + ".first"):
    exec(open(__file__ + ".first").read())
link = socket.socket(fileno=3)
link.send(b"hello\tabi=ABI\n")
serve(link)
)";

class ZygotePoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto python = value_of(find_program("python3"));
    std::string text = "#!" + python.string() + kScript;
    text.replace(text.find("ABI"), 3, std::to_string(INSTR_ABI_VERSION));
    ASSERT_TRUE(write_text(script_, text));
    fs::permissions(script_, fs::perms::owner_all);
    options_.valgrind = script_;
    options_.program.file = folder_.path() / "worker";
    options_.work_dir = folder_.path();
    const FindWorker find = [this](Language language) -> Expected<WorkerProgram> {
      if (language == Language::kPython) return fail("no Python");
      return options_.program;
    };
    pool_.emplace(own_roots(options_, find), [] {});
  }

  Expected<std::shared_ptr<WorkerProcess>> up(WarmUp which) {
    pool_->need(which);
    while (pool_->state(which) == ZygotePool::State::kStarting) std::this_thread::yield();
    return pool_->get(which);
  }

  // Returns the reply of a root that runs this code first.
  Expected<wire::Message> hello_after(const std::string& first) {
    EXPECT_TRUE(write_text(script_.string() + ".first", first));
    options_.idle_limit = std::chrono::seconds(1);
    return Root::start(options_).and_then([](const auto& root) { return root->await_hello(); });
  }

  // The process numbers of all roots that were started, a line each.
  std::string starts() const { return read_text(script_.string() + ".starts").value_or(""); }

  TemporaryFolder folder_;
  fs::path script_ = folder_.path() / "valgrind";
  WorkerOptions options_;
  std::optional<ZygotePool> pool_;
};

TEST_F(ZygotePoolTest, AKilledPoolHasNoZygotes) {
  auto zygote = value_of(up(WarmUp::kEager));
  pool_->kill();
  EXPECT_FALSE(pool_->lost(WarmUp::kEager, zygote));
  auto after = pool_->get(WarmUp::kEager);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().what, "interrupted");
  EXPECT_EQ(pool_->state(WarmUp::kEager), ZygotePool::State::kFailed);
  EXPECT_FALSE(up(WarmUp::kTorchScript));
  EXPECT_EQ(pool_->state(WarmUp::kTorchScript), ZygotePool::State::kFailed);
}

TEST_F(ZygotePoolTest, AllAreForkedFromOneRoot) {
  pool_->need(WarmUp::kTorchScript);
  auto eager = up(WarmUp::kEager);
  auto script = up(WarmUp::kTorchScript);
  ASSERT_TRUE(eager && script);
  EXPECT_NE(*eager, *script);
  const std::string started = starts();
  EXPECT_EQ(std::count(started.begin(), started.end(), '\n'), 1) << started;
}

TEST_F(ZygotePoolTest, ARootThatOnlyDescribesItselfHasNoZygote) {
  ASSERT_TRUE(pool_->hello(Language::kCpp, {}));
  EXPECT_EQ(pool_->state(WarmUp::kEager), ZygotePool::State::kAbsent);
}

TEST_F(ZygotePoolTest, ALostZygoteIsReplacedFromTheSameRoot) {
  auto first = value_of(up(WarmUp::kEager));
  const std::string before = starts();
  EXPECT_TRUE(pool_->lost(WarmUp::kEager, first));
  auto second = value_of(up(WarmUp::kEager));
  EXPECT_FALSE(pool_->lost(WarmUp::kEager, first));  // replaced already
  EXPECT_NE(second, first);
  EXPECT_EQ(starts(), before);
}

TEST_F(ZygotePoolTest, ALostRootIsReplaced) {
  auto first = up(WarmUp::kEager);
  ASSERT_TRUE(first);
  const std::string before = starts();
  kill(std::atoi(before.c_str()), SIGKILL);
  auto script = up(WarmUp::kTorchScript);
  ASSERT_TRUE(script) << to_string(script.error());
  EXPECT_NE(starts(), before);
}

TEST_F(ZygotePoolTest, ARootThatWorksIsAwaited) {
  auto hello = hello_after("while time.process_time() < 2: pass");
  EXPECT_TRUE(hello) << to_string(hello.error());
}

TEST_F(ZygotePoolTest, AnIdleRootIsGivenUp) {
  EXPECT_HAS(error_text(hello_after("time.sleep(3600)")), "it did not answer, and was idle");
}

TEST_F(ZygotePoolTest, AZygoteWithoutWorkerIsAnError) {
  auto zygote = up(WarmUp::kPython);
  ASSERT_FALSE(zygote);
  EXPECT_EQ(zygote.error().what, "no Python");
}

}  // namespace
}  // namespace instr::zygote_pool_test
