// A team's workflow before a merge: a baseline, a change that makes a function slower, a check that
// fails and names the function, a fix, a check that passes.
#include "tests/e2e/quick_library.h"
#include "tests/labels.h"

namespace instr::e2e::workflow_test {
namespace {

const RunsUnder kThreadSanitizer("thread", "Workflow.TwoBuilds*");
const RunsUnder kNewestLibtorch("newest", "Workflow.TwoBuilds*");

constexpr const char* kBaselines = ".instr_bench";

// A team's repository: a small library with its benchmarks.
class Workflow : public QuickLibraryTest {
 protected:
  // The baseline `main` of that repository, measured once for all tests.
  void have_baseline() {
    static const TemporaryFolder saved;
    if (!fs::exists(saved.path() / kBaselines)) {
      write_quick_library(saved.path());
      expect_status(0, run_in(saved.path(), {"--definitions=quick.toml", "--save=main"}));
    }
    fs::copy(saved.path() / kBaselines, file(kBaselines), fs::copy_options::recursive);
  }
};

TEST_F(Workflow, FailsForTheFunctionThatGotSlowerAndPassesOnceItIsFixed) {
  expect_status(0, run({"--definitions=quick.toml", "--save=main"}));
  EXPECT_TRUE(fs::exists(file(".instr_bench/baselines/main.jsonl")));
  EXPECT_HAS(run({"baseline", "list"}).output, "main  2 benchmarks");

  // A change that makes it slower cannot also allow that.
  write_slower_code();
  write(file("quick.toml"), replaced(kDefinitions, "label = \"squares\"",
                                     "label = \"squares\"\nlimit = { instructions = \"none\" }"));
  auto slower = expect_status(
      3, run({"--definitions=quick.toml", "--baseline=main", "--output=slower.jsonl"}));
  EXPECT_HAS(slower.output, "squares/eager/forward/t1/cpu");
  EXPECT_HAS(slower.output, "the limit of instructions is changed from 0.5% to none (0.5% holds)");
  EXPECT_HAS(slower.output, "slower, fails");
  // Growing takes 1, 2, 4 ... 128 elements: eight allocations where there was one.
  EXPECT_HAS(slower.output, "+7");
  EXPECT_HAS(slower.output, "quick::squares(");
  EXPECT_TRUE(has(slower.output, "1 slower, 1 same") || has(slower.output, "1 same, 1 slower"))
      << slower.output;

  write(file("quick.cpp"), kSource);
  write(file("quick.toml"), kDefinitions);
  EXPECT_HAS(expect_status(0, run({"--definitions=quick.toml", "--baseline=main"})).output,
             "2 same");

  // The stored results give the same comparison.
  EXPECT_EQ(expect_status(3, run({"compare", "main", "slower.jsonl"})).output, slower.output);
  expect_status(0, run({"compare", "main", "slower.jsonl", "--limit=instructions=1000%|allocs=+7",
                        "--limit=alloc_bytes=1000%|peak_bytes=1000%"}));
  EXPECT_HAS(
      expect_status(0, run({"explain", "squares/eager/forward/t1/cpu", "slower.jsonl"})).output,
      "quick::squares(");
}

// The build id of a shared object, according to readelf.
std::string build_id_of(const std::string& file) {
  const std::string notes = program_output({"readelf", "--notes", file});
  std::size_t begin = notes.find("Build ID: ") + 10;
  return notes.substr(begin, notes.find('\n', begin) - begin);
}

TEST_F(Workflow, NeverPassesByAccident) {
  expect_refused(run({"--definitions=quick.toml", "--baseline=main"}),
                 "there is no baseline `main`");

  have_baseline();
  write(file("one.toml"), replaced(kDefinitions, "label = \"squares\"", "label = \"cubes\""));
  EXPECT_HAS(
      expect_status(3, run({"--definitions=one.toml", "--baseline=main", "--output=one.jsonl"}))
          .output,
      "missing");
  expect_status(0, run({"compare", "main", "one.jsonl", "--allow-missing"}));
  // Benchmarks excluded by a filter are not missing.
  EXPECT_EQ(run({"compare", "main", "one.jsonl", "--filter=scaled"}).exit_code, 0);

  write(file("quick.cpp"), "this is not C++\n");
  EXPECT_HAS(expect_status(3, run({"--definitions=quick.toml", "--baseline=main"})).output,
             "no benchmark could be compared");
}

TEST_F(Workflow, ResultsMeasuredDifferentlyAreNotCompared) {
  have_baseline();
  std::string text = text_of(file(".instr_bench/baselines/main.jsonl"));
  const auto measured = nlohmann::json::parse(text.substr(0, text.find('\n')));
  // The worker has loaded the C library of this machine.
  std::string libc = program_output({"g++", "-print-file-name=libc.so.6"});
  std::string id = build_id_of(libc.substr(0, libc.find('\n')));
  auto changed = measured;
  bool is_there = false;
  for (auto& value : changed["fingerprint"]["libraries"]) {
    if (value[0] != "library libc.so.6") continue;
    EXPECT_EQ(value[1], id);
    value[1] = "another";
    is_there = true;
  }
  EXPECT_TRUE(is_there);
  write(file("b.jsonl"), changed.dump() + text.substr(text.find('\n')));
  auto otherwise = expect_status(2, run({"compare", "b.jsonl", "main"}));
  EXPECT_HAS(otherwise.errors, "--vary=libraries");
  EXPECT_HAS(otherwise.errors, "  library libc.so.6: another, then " + id + "\n");
  EXPECT_EQ(run({"compare", "b.jsonl", "main", "--vary=libraries"}).exit_code, 0);
  // Before the run, too.
  auto refused =
      expect_status(2, run({"--definitions=quick.toml", "--filter=scaled", "--baseline=b.jsonl"}));
  EXPECT_HAS(refused.errors, "  library libc.so.6: another, then ");
  EXPECT_EQ(refused.output, "");
}

TEST_F(Workflow, ReleasesOfTorchAreBaselines) {
  // The same snippet, whatever it costs today; the flags differ with the release.
  write(file("one.toml"), R"(schema = 1
[[benchmark]]
label = "Empty/no allocation"
tags = ["standard"]
setup = "auto x = torch::ones({4});"
stmt = "auto y = torch::empty({0});"
)");
  const auto counted = run({"--definitions=one.toml", "--baseline=release:2.14.1", "--language=cpp",
                            "--vary=compiler,valgrind,cpu,worker"});
  EXPECT_HAS(counted.output, "Empty/no allocation/eager/forward/t1/cpu   1,839");
  EXPECT_HAS(counted.output, "(1 benchmark)");  // the release's others are not missing
  const auto two = run({"compare", "release:2.11.0", "release:2.14.1", "--filter=^Empty/no alloc"});
  EXPECT_HAS(two.output, "Empty/no allocation/py/eager/forward/t1/cpu");
  expect_refused(run({"compare", "release:2.14.9", "release:2.14.1"}), "did you mean `2.14.1`?");
}

TEST_F(Workflow, ACountThatNeverWasSteadyIsNotGated) {
  write(file("quick.toml"), std::string(kDefinitions) + R"(
[[benchmark]]
label = "grows"
setup = "long length = 0; volatile long sum = 0;"
stmt = "for (long i = 0; i < length; ++i) sum = sum + i; ++length;"
)");
  expect_status(0, run({"--definitions=quick.toml", "--filter=scaled|grows", "--output=a.jsonl",
                        "--metrics=instructions,cache"}));
  // A count that is unsteady on both sides does not fail.
  EXPECT_HAS(expect_status(0, run({"compare", "a.jsonl", "a.jsonl"})).output,
             "not steady before (");
}

TEST_F(Workflow, TwoBuildsOfALibrary) {
  write_slower_code("slow.cpp");
  write(file("base.toml"), "[build]\ninclude_dirs = [\".\"]\nsources = [\"quick.cpp\"]\n");
  write(file("new.toml"), "[build]\ninclude_dirs = [\".\"]\nsources = [\"slow.cpp\"]\n");
  auto result = expect_status(3, run({"ab", "--build=base.toml", "--build=new.toml",
                                      "--definitions=quick.toml", "--output=both"}));
  EXPECT_HAS(result.output, "quick::squares(");
  auto again = expect_status(3, run({"compare", "both/a.jsonl", "both/b.jsonl"}));
  EXPECT_EQ(again.output, result.output);
  EXPECT_TRUE(stray_processes().empty());
}

TEST_F(Workflow, ShardsMergedAreTheRunWithoutShards) {
  std::vector<std::string> parts;
  for (const char* part : {"1", "2"}) {
    std::string name = "part" + std::string(part) + ".jsonl";
    ASSERT_EQ(
        run({"--definitions=quick.toml", "--shard=" + std::string(part) + "/2", "--output=" + name})
            .exit_code,
        0);
    parts.push_back(name);
  }
  have_baseline();
  expect_refused(run({"merge", parts[0], "--output=merged.jsonl"}), "missing: shard 2/2");
  auto merged = expect_status(0, run({"merge", parts[0], parts[1], "--output=merged.jsonl"}));
  EXPECT_HAS(expect_status(0, run({"compare", "main", "merged.jsonl", "--limit=instructions=+0",
                                   "--forbid-new"}))
                 .output,
             "2 same");
}

TEST_F(Workflow, BisectHasTheStatusesOfGit) {
  have_baseline();
  std::vector<std::string> step{"bisect", "--definitions=quick.toml", "--baseline=main",
                                "--key=squares/eager/forward/t1/cpu"};
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = step;
    all.insert(all.end(), more.begin(), more.end());
    return run(all).exit_code;
  };
  EXPECT_EQ(with({"--", "true"}), 0);
  EXPECT_EQ(with({"--", "false"}), 125);
  write_slower_code("slow.cpp");
  EXPECT_EQ(with({"--", "cp", "slow.cpp", "quick.cpp"}), 1);
  write(file("quick.cpp"), "this is not C++\n");
  EXPECT_EQ(with({}), 125);
  EXPECT_GT(run({"bisect", "--definitions=quick.toml", "--baseline=none", "--key=x"}).exit_code,
            127);
}

}  // namespace
}  // namespace instr::e2e::workflow_test
