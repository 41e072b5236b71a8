// Workers that stay after a run: they count the same, and no other process is left.
#include <signal.h>

#include "tests/e2e/tested_program.h"

namespace instr::e2e::warm_test {
namespace {

using namespace std::chrono_literals;

class Warm : public ::testing::Test {
 protected:
  // Tests leave their workers to the next test, since starting LibTorch takes most of the time.
  static void SetUpTestSuite() { run({"warm", "stop"}); }
  static void TearDownTestSuite() {
    EXPECT_EQ(run({"warm", "stop"}).exit_code, 0);
    EXPECT_TRUE(stray_processes().empty());
  }

  Records measured(std::vector<std::string> options) {
    const fs::path results = folder_.path() / "r.jsonl";
    options.push_back("--output=" + results.string());
    auto ended = expect_status(0, run(std::move(options)));
    errors_ = ended.errors;
    return read_results(results);
  }

  // "process 1234  LibTorch 1.13.1, C++  ends in " without the time.
  static std::vector<std::string> there() {
    auto all = split_lines(run({"warm", "list"}).output);
    for (std::string& line : all) line.resize(line.rfind("  "));
    return all;
  }

  // Lists the processes that stay: the root and its zygote. Zygotes that a run has borrowed end
  // soon after it, once they notice that the connection is closed.
  static std::vector<std::string> kept() {
    for (int i = 0; i < 2400 && running_in(cache_folder()).size() > 2; ++i) {
      std::this_thread::sleep_for(50ms);
    }
    return running_in(cache_folder());
  }

  // Ends a run with that signal once the definitions have made the file "begun".
  void end_by(int signal, std::string text) {
    const fs::path definitions = folder_.path() / "d.toml", begun = folder_.path() / "begun";
    text.replace(text.find("BEGUN"), 5, begun.string());
    write(definitions, text);
    fs::remove(begun);
    auto program = Process::spawn(command({"--warm", "--definitions=" + definitions.string()}));
    ASSERT_TRUE(program.has_value());
    while (!fs::exists(begun) && !program->wait_for(50ms)) {
    }
    kill(program->pid(), signal);
    program->wait();
    EXPECT_TRUE(fs::exists(begun));
  }

  TemporaryFolder folder_;
  std::string errors_;
};

const char* const kEndlessSetup = R"(schema = 1
[[benchmark]]
label = "endless"
setup = "std::ofstream(\"BEGUN\").put(1); for (volatile int i = 0;; i = i + 1) {}"
stmt = "int x = 0; (void)x;"
timeout = 60.0
)";

// The host is loading a unit, and does not read its connection.
const char* const kEndlessLoad = R"(schema = 1
global_setup = """
int begin() { std::ofstream("BEGUN").put('x'); for (volatile int i = 0;; i = i + 1) {} }
int begun = begin();"""
[[benchmark]]
label = "endless"
stmt = "int x = begun; (void)x;"
timeout = 60.0
)";

const std::vector<std::string> kOne{"--filter=^matmul/mm/n=4/eager"};
const std::vector<std::string> kSome{"--filter=^Pointwise/Data movement/(clone|copy_|zero_)",
                                     "--filter=^matmul/mm/(grad/)?n=4/", "--language=cpp"};

std::vector<std::string> with(const char* option, std::vector<std::string> options = kOne) {
  options.emplace_back(option);
  return options;
}

TEST_F(Warm, TheNextRunHasTheSameWorkerAndCountsTheSame) {
  run({"warm", "stop"});
  EXPECT_TRUE(there().empty());
  const Records cold = measured(kSome);
  ASSERT_EQ(cold.size(), 9u);
  EXPECT_TRUE(there().empty());
  for (int i = 0; i < 2; ++i) {
    const Records warm = measured(with("--warm", kSome));
    ASSERT_EQ(warm.size(), cold.size());
    for (const auto& [key, record] : cold)
      EXPECT_EQ(warm.at(key).at("metrics"), record.at("metrics"));
    const auto all = there();
    ASSERT_EQ(all.size(), 1u);
    static const std::string first = all[0];
    EXPECT_EQ(all[0], first);
  }
}

TEST_F(Warm, RunsAtOnceShareAWorker) {
  const auto options = command({"--warm", "--definitions=" + fixture("known.toml").string(),
                                "--filter=nops", "--language=cpp", "--format=table"});
  std::vector<std::string> outputs(4);
  {
    std::vector<std::jthread> runs;
    for (std::string& output : outputs) {
      runs.emplace_back([&output, &options] {
        output = run_command(options)->output;
        output.resize(output.rfind("\n\n"));  // without the time
      });
    }
  }
  EXPECT_FALSE(outputs[0].empty());
  for (const std::string& output : outputs) EXPECT_EQ(output, outputs[0]);
  EXPECT_EQ(there().size(), 1u);
}

TEST_F(Warm, AWorkerWithChangedFilesIsReplaced) {
  measured(with("--warm"));
  const auto before = there();
  ASSERT_EQ(before.size(), 1u);
  for (const auto& entry : fs::directory_iterator(cache_folder() / "artefacts")) {
    const fs::path worker = entry.path() / "worker";
    if (fs::exists(worker)) fs::permissions(worker, fs::status(worker).permissions());  // its ctime
  }
  measured(with("--warm"));
  const auto after = there();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_NE(after[0], before[0]);
  EXPECT_EQ(errors_.find("no warm worker"), std::string::npos) << errors_;
}

TEST_F(Warm, AKilledWorkerIsReplaced) {
  measured(with("--warm"));
  const std::string line = there().at(0);
  const pid_t pid = std::stoi(line.substr(line.find(' ')));
  kill(pid, SIGKILL);
  measured(with("--warm"));
  EXPECT_NE(there().at(0), line);
}

TEST_F(Warm, AnEndedRunLeavesTheWorker) {
  measured(with("--warm"));
  const auto before = kept();
  const auto worker = there();
  for (const int signal : {SIGINT, SIGKILL}) {
    for (const char* endless : {kEndlessSetup, kEndlessLoad}) {
      end_by(signal, endless);
      EXPECT_EQ(kept(), before) << strsignal(signal) << "\n" << endless;
      EXPECT_EQ(there(), worker);
    }
  }
  EXPECT_EQ(measured(with("--warm")).size(), 1u);
}

}  // namespace
}  // namespace instr::e2e::warm_test
