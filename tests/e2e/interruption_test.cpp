// Ctrl-C, killed workers, two runs at once: finished results are kept, and no process is left.
// Access to the terminal.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <regex>

#include "core/results/result_set.h"
#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::interruption_test {
namespace {

const RunsUnder kThreadSanitizer("thread", "Interruption.*");

using namespace std::chrono_literals;

// Waits until the results file has that many lines. Returns false if the program ended first.
bool wait_for_lines(Process& program, const fs::path& file, std::size_t lines) {
  while (split_lines(text_of(file)).size() < lines) {
    if (program.wait_for(50ms)) return false;
  }
  return true;
}

const char* const kSlowTail = R"(schema = 1
[[benchmark]]
label = "quick"
matrix = { n = [1, 2, 3, 4] }
stmt = 'asm volatile(".rept {n}\n nop\n .endr");'
[[benchmark]]
label = "slow"
matrix = { n = [1, 2, 3, 4] }
setup = "for (volatile int i = 0;; i = i + 1) {}"
stmt = "int x = {n}; (void)x;"
timeout = 60.0
)";

class Interruption : public ::testing::Test {
 protected:
  // Starts a run of these definitions, and waits until that many measurements are written.
  Process start(const std::string& definitions, std::size_t measurements, const char* option) {
    const fs::path file = folder_.write("d.toml", definitions);
    auto program = value_of(Process::spawn(
        command({"--definitions=" + file.string(), "--output=" + results_.string(), option})));
    EXPECT_TRUE(wait_for_lines(program, results_, 1 + measurements));
    return program;
  }

  TemporaryFolder folder_;
  const fs::path results_ = folder_.path() / "r.jsonl";
};

TEST_F(Interruption, CtrlCKeepsFinishedResultsAndLeavesNoProcess) {
  auto program = start(kSlowTail, 4, "--quiet");
  kill(program.pid(), SIGINT);
  EXPECT_EQ(to_exit_code(program.wait()), 130);
  auto records = read_results(results_, false);
  for (int n : {1, 2, 3, 4}) {
    auto& record = records.at("quick/n=" + std::to_string(n) + "/eager/forward/t1/cpu");
    EXPECT_EQ(record.at("metrics").at("instructions"), n);
  }
  EXPECT_TRUE(stray_processes().empty());
  // Finished results are kept, and marked as incomplete.
  const std::string name = results_.string();
  EXPECT_EQ(run({"compare", name, name}).exit_code, 2);
  EXPECT_EQ(run({"compare", name, name, "--allow-incomplete"}).exit_code, 0);
}

class RowByRow : public Interruption {
 protected:
  // Rows that wait for files, the first one for none.
  void write_rows(const std::vector<std::string>& awaited) {
    std::string text = "schema = 1\n";
    for (std::size_t i = 0; i < awaited.size(); ++i) {
      text += fmt::format(
          "[[benchmark]]\nlabel = 'row{}'\nstmt = 'asm(\".rept {}\\nnop\\n.endr\");'\n"
          "setup = 'while (access(\"{}\", F_OK) != 0) usleep(10000);'\n",
          i + 1, i + 1, (folder_.path() / awaited[i]).string());
    }
    folder_.write("d.toml", text);
    folder_.write("exists");
  }
};

// Nothing that was finished is measured again, unless it has changed.
TEST_F(Interruption, ARunGoesOnWithItsResults) {
  folder_.write("value.h", "constexpr int kValue = 1;\n");
  const std::string file = folder_
                               .write("d.toml", R"(schema = 1
[build]
include_dirs = ["."]
[[benchmark]]
label = "plain"
stmt = "int x = 1; (void)x;"
[[benchmark]]
label = "including"
global_setup = "#include \"value.h\""
stmt = "volatile int x = kValue; (void)x;"
)")
                               .string();
  const auto go_on = [&](std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"--definitions=" + file, "--output=" + results_.string(), "--resume"});
    return run(std::move(more));
  };
  const auto functions_of = [&] {
    const ResultSet set = value_of(read_result_set(results_, "r"));
    return value_of(set.functions("plain/eager/forward/t1/cpu"));
  };
  ASSERT_EQ(go_on().exit_code, 0);
  const auto functions = functions_of();
  EXPECT_FALSE(functions.empty());
  EXPECT_HAS(go_on().errors, "2 of 2 are already there");
  EXPECT_EQ(functions_of(), functions);
  // As a killed run leaves it.
  const auto lines = split_lines(text_of(results_));
  write(results_, lines[0] + "\n" + lines[1] + "\n" + lines[2].substr(0, 20));
  EXPECT_HAS(expect_status(0, go_on()).errors, "1 of 2 are already there");
  EXPECT_EQ(read_results(results_).size(), 2u);
  folder_.write("value.h", "constexpr int kValue = 2;\n");
  EXPECT_HAS(go_on().errors, "1 of 2 are measured again, since this has changed: the file");
  EXPECT_HAS(go_on({"--lines"}).errors,
             "2 of 2 are measured again, since this has changed: the definition (2)");
  expect_refused(run({"--definitions=" + file, "--output=/dev/stdout", "--resume"}),
                 "--resume cannot go on with a pipe");
}

TEST_F(RowByRow, ARowIsShownOnceItIsCounted) {
  write_rows({"exists", "later", "exists"});
  const auto shown = expect_status(
      0, run_in_shell("$P --definitions=d.toml --quiet --jobs=2 >out & "
                      "until grep -q row1 out; do kill -0 $! || exit 99; sleep 0.05; done; "
                      "grep -c row2 out; touch later; wait $! && cat out",
                      folder_.path()));
  EXPECT_TRUE(shown.output.starts_with("0\n")) << shown.output;
  for (const char* row : {"row1 +1 ", "row2 +2 ", "row3 +3 "}) {
    EXPECT_TRUE(std::regex_search(shown.output, std::regex(row))) << shown.output;
  }
}

// With fewer jobs, the rows that wait could keep the first one from being measured.
TEST_F(RowByRow, MeasuringEndsWithTheReader) {
  write_rows({"exists", "reader_left", "never"});
  const auto left = run_in_shell(
      "{ $P --definitions=d.toml --quiet --jobs=3; echo $? >status; } | "
      "{ read -r line; exec 0<&-; touch reader_left; }; cat status",
      folder_.path());
  EXPECT_EQ(left.output, "141\n") << left.errors;
  EXPECT_TRUE(stray_processes().empty());
}

TEST_F(Interruption, KillingTheProgramLeavesNoProcess) {
  auto program = start(kSlowTail, 4, "--quiet");
  kill(program.pid(), SIGKILL);
  program.wait();
  EXPECT_TRUE(stray_processes().empty());
  EXPECT_EQ(read_results(results_, false).size(), 4u);
}

TEST_F(Interruption, KilledWorkersAreReplaced) {
  auto program = start(R"(schema = 1
[[benchmark]]
label = "n"
matrix = { n = [1, 2, 3, 4, 5, 6, 7, 8] }
setup = "usleep(300000);"
stmt = 'asm volatile(".rept {n}\n nop\n .endr");'
)",
                       2, "--jobs=1");
  for (const auto& pid : running_in(cache_folder())) kill(std::stoi(pid), SIGKILL);
  EXPECT_EQ(to_exit_code(program.wait()), 0);
  auto records = read_results(results_);
  ASSERT_EQ(records.size(), 8u);
  for (int n = 1; n <= 8; ++n) {
    auto& record = records.at("n/n=" + std::to_string(n) + "/eager/forward/t1/cpu");
    ASSERT_EQ(record.at("outcome"), "counted") << record.dump(2);
    EXPECT_EQ(record.at("metrics").at("instructions"), n);
  }
  EXPECT_TRUE(stray_processes().empty());
}

// Runs the program with a timeout on a new terminal, into which `typed` is typed.
int run_on_terminal(std::vector<std::string> arguments, const std::string& typed) {
  Fd ours(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!ours || grantpt(ours.get()) != 0 || unlockpt(ours.get()) != 0) return -1;
  const std::string name = ptsname(ours.get());
  arguments.insert(arguments.begin(), program_under_test());
  std::vector<char*> words;
  for (auto& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    setsid();
    dup2(open(name.c_str(), O_RDWR), 0);  // the terminal of the session
    alarm(60);
    execv(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  EXPECT_EQ(::write(ours.get(), typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return to_exit_code(status);
}

TEST_F(Interruption, TheCommandOfBisectMayPromptOnTheTerminal) {
  TemporaryFolder folder;
  const fs::path good = testing::fixture("formats/before.jsonl");
  const fs::path answer = folder.path() / "answer";
  int status = run_on_terminal(
      {"bisect", "--key=matmul/mm/eager/forward/t1/cpu", "--baseline=" + good.string(), "--", "sh",
       "-c", "read line && echo $line >" + answer.string() + "; exit 1"},
      "yes\n");
  EXPECT_EQ(status, 125);  // it does not build
  EXPECT_EQ(text_of(answer), "yes\n");
}

}  // namespace
}  // namespace instr::e2e::interruption_test
