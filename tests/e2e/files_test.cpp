// Edge cases of files and standard output: truncated, full, another user's, a device, a pipe. The
// results are recorded, so nothing is measured here.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/e2e/tested_program.h"

namespace instr::e2e::files_test {
namespace {

// Results of a finished run, with functions.
fs::path recorded(const std::string& name) { return testing::fixture("formats/" + name); }

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"before.jsonl", "after.jsonl"}) {
      fs::copy_file(recorded(name), file(name));
      fs::copy_file(recorded(name + std::string(".profiles.jsonl.gz")),
                    file(name + std::string(".profiles.jsonl.gz")));
    }
    write(file("bench.toml"), "schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmt = \"1;\"\n");
  }

  fs::path file(const std::string& name) const { return folder_.path() / name; }

  CommandResult shell(const std::string& line) const { return run_in_shell(line, folder_.path()); }
  int status(const std::string& line) const { return shell(line).exit_code; }

  std::string first_key() const {
    return nlohmann::json::parse(split_lines(text_of(file("before.jsonl"))).at(1)).at("key");
  }

  // Removes the last lines.
  void cut(const std::string& name, const std::string& to, int lines) const {
    std::string text = text_of(file(name));
    for (int i = 0; i < lines; ++i) text.resize(text.rfind('\n', text.size() - 2) + 1);
    write(file(to), text);
  }

  TemporaryFolder folder_;
};

TEST_F(Files, UnwritableOutputIsReportedAndFails) {
  const std::string explain = "$P explain '" + first_key() + "' before.jsonl";
  for (const std::string& command :
       {std::string("$P --help"), std::string("$P --version"), std::string("$P compare --help"),
        std::string("$P list --definitions=bench.toml"),
        std::string("$P compare before.jsonl before.jsonl --allow-failed"),
        std::string("$P compare before.jsonl after.jsonl --format=json"),
        std::string("$P baseline show before.jsonl --format=jsonl"),
        std::string("INSTR_BENCH_BASELINES=. $P baseline list"), explain}) {
    auto full = expect_status(2, shell(command + " >/dev/full"));
    EXPECT_HAS(full.errors, "error: standard output: cannot write: No space left on device")
        << command;
    expect_refused(shell(command + " >&-"), "Bad file descriptor");
    // The reader has left: quiet, with the status of other programs. A verdict stays.
    auto gone = shell("mkfifo p 2>/dev/null; exec 8<>p 9>p 8<&-; { " + command + "; } >&9");
    const int usual = status(command + " >/dev/null");
    EXPECT_EQ(gone.exit_code, usual == 0 ? 141 : usual) << command;
    EXPECT_EQ(gone.errors, "") << command;
  }
  EXPECT_EQ(status("$P --nonsense 2>/dev/full"), 2);
  EXPECT_EQ(status("$P --nonsense 2>&-"), 2);
}

TEST_F(Files, ABisectionThatCannotRunIsNotAVerdict) {
  EXPECT_GT(status("$P bisect --nonsense"), 127);
  EXPECT_GT(status("$P bisect --help >/dev/full"), 127);
}

TEST_F(Files, IncompleteResultsAreRefusedUnlessAllowed) {
  cut("before.jsonl", "cut.jsonl", 3);
  const std::string key = "'" + first_key() + "'";
  for (const std::string& command :
       {std::string("compare cut.jsonl after.jsonl"), std::string("compare after.jsonl cut.jsonl"),
        "explain " + key + " cut.jsonl", std::string("baseline show cut.jsonl"),
        std::string("merge cut.jsonl --output=merged.jsonl"),
        std::string("--definitions=bench.toml --baseline=cut.jsonl")}) {
    auto refused = expect_status(2, shell("$P " + command));
    EXPECT_HAS(refused.errors, "cut.jsonl: these results are incomplete") << command;
    EXPECT_HAS(refused.errors, "--allow-incomplete");
  }
  EXPECT_FALSE(fs::exists(file("merged.jsonl")));
  EXPECT_HAS(
      expect_status(0, shell("$P compare cut.jsonl before.jsonl --allow-incomplete --allow-failed"))
          .output,
      "incomplete");
  EXPECT_EQ(status("$P explain " + key + " cut.jsonl --allow-incomplete"), 0);
  EXPECT_EQ(status("$P baseline show cut.jsonl --allow-incomplete"), 0);
  // Output derived from incomplete results is incomplete, too.
  EXPECT_EQ(status("$P merge cut.jsonl --output=merged.jsonl --allow-incomplete"), 0);
  EXPECT_EQ(status("$P compare merged.jsonl after.jsonl"), 2);
  EXPECT_EQ(status("$P baseline show cut.jsonl --format=jsonl --allow-incomplete >shown.jsonl"), 0);
  EXPECT_EQ(status("$P compare shown.jsonl after.jsonl"), 2);
  EXPECT_EQ(status("$P baseline show before.jsonl --format=jsonl >shown.jsonl"), 0);
  EXPECT_EQ(status("$P compare before.jsonl shown.jsonl --allow-failed"), 0);
}

TEST_F(Files, AShardIsNotTheBaseOfAWholeRun) {
  std::string text = text_of(file("before.jsonl"));
  text.insert(text.find("\"fingerprint\""), "\"shard\":[1,3],");
  write(file("shard.jsonl"), text);
  expect_refused(shell("$P compare shard.jsonl before.jsonl"), "shard.jsonl is only shard 1/3");
  EXPECT_EQ(status("$P compare shard.jsonl shard.jsonl --allow-failed"), 0);
  EXPECT_EQ(status("$P compare shard.jsonl before.jsonl --allow-failed --allow-incomplete"), 0);
  // A merge of only some shards is incomplete.
  EXPECT_EQ(status("$P merge shard.jsonl --output=merged.jsonl --allow-missing"), 0);
  EXPECT_EQ(status("$P compare merged.jsonl before.jsonl"), 2);
}

// Refused before anything is measured; existing files stay.
TEST_F(Files, OutputThatCannotBeWrittenIsRefused) {
  fs::create_symlink("bench.toml", file("link.jsonl"));
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  fs::create_directory(file("folder"));
  const std::string definitions = text_of(file("bench.toml"));
  const std::string recorded_text = text_of(file("before.jsonl"));
  struct Refused {
    std::string command;
    std::string words;
  };
  const std::string run = "$P --definitions=bench.toml --libtorch=/nonexistent ";
  const std::string other = "does not hold ";
  for (const auto& [command, words] : std::vector<Refused>{
           {run + "--output=bench.toml", "bench.toml: " + other + "results of instr_bench"},
           {run + "--output=link.jsonl", "link.jsonl: " + other},
           {run + "--output=./folder", "folder: cannot write: Is a directory"},
           {run + "--output=pipe", "pipe: cannot write: this pipe has no reader"},
           {run + "--output=none/r.jsonl", "none: there is no such folder"},
           {run + "--output=$(printf %300s | tr ' ' x)/r.jsonl", "File name too long"},
           {run + "--output=/dev/stdout --save=main | cat; exit ${PIPESTATUS[0]}",
            "--save cannot keep"},
           {run + "--expect=none/e.csv --update-expected", "none: there is no such folder"},
           {run + "--expect=bench.toml --update-expected",
            "bench.toml: expected counts must be in a CSV file"},
           {run + "--keep-profiles=bench.toml/profiles",
            "bench.toml/profiles: cannot make this folder"},
           {run + "--dump=graph --dump-dir=/proc/none", "/proc/none: cannot make this folder"},
           {"$P ab --compiler=a --compiler=b --definitions=bench.toml --output=before.jsonl",
            "before.jsonl: cannot "},
           {"$P merge before.jsonl --output=bench.toml", "bench.toml: " + other},
           {"$P plot before.jsonl --output=bench.toml", "bench.toml: " + other + "a picture"},
           {"$P plot before.jsonl --output=before.jsonl", "before.jsonl: " + other},
           {"$P experiment --definitions=bench.toml --libtorch=/nonexistent --output=bench.toml",
            "bench.toml: " + other + "results of instr_bench"}}) {
    expect_refused(shell(command), words);
  }
  EXPECT_EQ(text_of(file("bench.toml")), definitions);
  EXPECT_EQ(text_of(file("before.jsonl")), recorded_text);
  // If the setup fails, the old results are still there.
  EXPECT_EQ(status(run + "--output=before.jsonl"), 2);
  EXPECT_EQ(text_of(file("before.jsonl")), recorded_text);
}

TEST_F(Files, MergedResultsGoIntoAPipe) {
  ASSERT_EQ(status("$P merge before.jsonl --output=merged.jsonl"), 0);
  const std::string merged = text_of(file("merged.jsonl"));
  EXPECT_EQ(
      status("$P merge before.jsonl --output=/dev/stdout | cat >m.jsonl; exit ${PIPESTATUS[0]}"),
      0);
  EXPECT_EQ(text_of(file("m.jsonl")), merged);
  EXPECT_EQ(status("$P merge before.jsonl --output=>(cat >n.jsonl; echo >n.done); s=$?; "
                   "until [ -e n.done ]; do sleep 0.05; done; cmp n.jsonl merged.jsonl && exit $s"),
            0);
  // The existing content of the file stays.
  EXPECT_EQ(status("{ echo first; $P merge before.jsonl --output=/dev/stdout; } >o.jsonl"), 0);
  EXPECT_EQ(text_of(file("o.jsonl")), "first\n" + merged);
}

TEST_F(Files, InputMayComeFromAPipe) {
  EXPECT_EQ(status("$P compare before.jsonl <(cat before.jsonl) --allow-failed"), 0);
  EXPECT_EQ(status("$P compare /dev/stdin before.jsonl <before.jsonl --allow-failed"), 0);
}

TEST_F(Files, DefinitionsMayComeFromStandardInput) {
  EXPECT_EQ(status("$P list --definitions=- <bench.toml >piped && "
                   "$P list --definitions=bench.toml >read && cmp piped read"),
            0);
  const std::string wrong = "printf 'schema = 1\n[[benchmark]]\nlabel = \"a\"\nstmtt = \"b;\"\n'";
  EXPECT_EQ(status(wrong + " | $P list --definitions=- 2>errors"), 2);
  EXPECT_HAS(text_of(file("errors")), "<stdin>:4:1: unknown key `stmtt` in [[benchmark]]");
  const std::string example =
      "sed -n '/^import json/,/^```/{/```/!p}' '" INSTR_SOURCE_DIR "/docs/DEFINITIONS.md'";
  EXPECT_EQ(status(example + " | python3 - | $P list --definitions=- >all"), 0);
  EXPECT_EQ(std::ranges::count(text_of(file("all")), '\n'), 200);
  EXPECT_EQ(status("$P list --definitions=- </dev/null 2>errors"), 2);
  EXPECT_HAS(text_of(file("errors")), "<stdin>: is empty: ");
}

TEST_F(Files, ReadingAPipeWithoutAWriterCanBeInterrupted) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  const std::string pipe = file("pipe").string();
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"compare", file("before.jsonl"), pipe},
        std::vector<std::string>{"explain", first_key(), pipe},
        std::vector<std::string>{"--definitions=" + file("bench.toml").string(),
                                 "--baseline=" + pipe}}) {
    for (int signal : {SIGINT, SIGTERM}) {
      auto program = Process::spawn(command(arguments));
      ASSERT_TRUE(program);
      // Opening waits until the program reads, which then gets neither data nor the end.
      const Fd writer(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
      ::kill(program->pid(), signal);
      EXPECT_EQ(to_exit_code(program->wait()), 130) << arguments[0];
    }
  }
}

}  // namespace
}  // namespace instr::e2e::files_test
