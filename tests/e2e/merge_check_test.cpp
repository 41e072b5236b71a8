// A team's workflow before a merge: a baseline, a change that makes one function slower, a check
// that fails and names it, a fix, a check that passes. On real code with the real program.
#include "tests/e2e/program.h"
#include "tests/e2e/quick_library.h"
#include "tests/labels.h"

namespace instr::e2e::merge_check_test {
namespace {

const RunsUnder kThreadSanitizer("thread", "MergeCheck.TwoBuilds*");
const RunsUnder kNewestLibtorch("newest", "MergeCheck.TwoBuilds*");

constexpr const char* kBaselines = ".instr_bench";

// A team's repository: a small library with its benchmarks.
class MergeCheck : public ::testing::Test {
 protected:
  void SetUp() override { write_quick_library(folder_.path()); }

  // The baseline `main` of that repository, measured once for all tests.
  void have_baseline() {
    static const TemporaryFolder saved;
    if (!fs::exists(saved.path() / kBaselines)) {
      write_quick_library(saved.path());
      const auto result = run_in(saved.path(), {"--definitions=quick.toml", "--save=main"});
      ASSERT_EQ(result.exit_code, 0) << result.errors;
    }
    fs::copy(saved.path() / kBaselines, file(kBaselines), fs::copy_options::recursive);
  }

  // As a user in that folder.
  CommandResult check(std::vector<std::string> arguments) {
    return run_in(folder_.path(), std::move(arguments));
  }

  fs::path file(const std::string& name) const { return folder_.path() / name; }

  TemporaryFolder folder_;
};

TEST_F(MergeCheck, FailsForTheFunctionThatGotSlowerAndPassesOnceItIsFixed) {
  auto saved = check({"--definitions=quick.toml", "--save=main"});
  ASSERT_EQ(saved.exit_code, 0) << saved.errors;
  EXPECT_TRUE(fs::exists(file(".instr_bench/baselines/main.jsonl")));
  auto listed = check({"baseline", "list"});
  EXPECT_TRUE(has(listed.output, "main  2 benchmarks")) << listed.output;

  // A change that makes it slower cannot also allow that.
  write(file("quick.cpp"), replaced(kSource, "  result.reserve(numbers.size());\n", ""));
  write(file("quick.toml"), replaced(kDefinitions, "label = \"squares\"",
                                     "label = \"squares\"\nlimit = { ir = \"none\" }"));
  auto slower = check({"--definitions=quick.toml", "--baseline=main", "--output=slower.jsonl"});
  EXPECT_EQ(slower.exit_code, 3) << slower.output << slower.errors;
  EXPECT_TRUE(has(slower.output, "squares/eager/forward/t1/cpu")) << slower.output;
  EXPECT_TRUE(has(slower.output, "the limit of ir is changed from 0.5% to none (0.5% holds)"))
      << slower.output;
  EXPECT_TRUE(has(slower.output, "slower, fails")) << slower.output;
  // Growing takes 1, 2, 4 ... 128 elements: eight allocations where there was one.
  EXPECT_TRUE(has(slower.output, "+7")) << slower.output;
  EXPECT_TRUE(has(slower.output, "quick::squares(")) << slower.output;
  EXPECT_TRUE(has(slower.output, "1 slower, 1 same") || has(slower.output, "1 same, 1 slower"))
      << slower.output;

  write(file("quick.cpp"), kSource);
  write(file("quick.toml"), kDefinitions);
  auto fixed = check({"--definitions=quick.toml", "--baseline=main"});
  EXPECT_EQ(fixed.exit_code, 0) << fixed.output << fixed.errors;
  EXPECT_TRUE(has(fixed.output, "2 same")) << fixed.output;

  // The stored results say the same, on their own.
  auto compared = check({"compare", "main", "slower.jsonl"});
  EXPECT_EQ(compared.exit_code, 3);
  EXPECT_EQ(compared.output, slower.output);
  auto allowed = check({"compare", "main", "slower.jsonl", "--limit=ir=1000%|allocs=+7",
                        "--limit=alloc_bytes=1000%|peak_bytes=1000%"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.output;
  auto explained = check({"explain", "squares/eager/forward/t1/cpu", "slower.jsonl"});
  EXPECT_EQ(explained.exit_code, 0);
  EXPECT_TRUE(has(explained.output, "quick::squares(")) << explained.output;
}

TEST_F(MergeCheck, NeverPassesByAccident) {
  auto none = check({"--definitions=quick.toml", "--baseline=main"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(has(none.errors, "there is no baseline `main`")) << none.errors;

  have_baseline();
  write(file("one.toml"), replaced(kDefinitions, "label = \"squares\"", "label = \"cubes\""));
  auto gone = check({"--definitions=one.toml", "--baseline=main", "--output=one.jsonl"});
  EXPECT_EQ(gone.exit_code, 3) << gone.output;
  EXPECT_TRUE(has(gone.output, "missing")) << gone.output;
  auto allowed = check({"compare", "main", "one.jsonl", "--allow-missing"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.output;
  // Benchmarks excluded by a filter are not missing.
  EXPECT_EQ(check({"compare", "main", "one.jsonl", "--filter=scaled"}).exit_code, 0);

  write(file("quick.cpp"), "this is not C++\n");
  auto broken = check({"--definitions=quick.toml", "--baseline=main"});
  EXPECT_EQ(broken.exit_code, 3) << broken.output;
  EXPECT_TRUE(has(broken.output, "not one benchmark could be compared")) << broken.output;
}

// The build id of a shared object, according to readelf.
std::string build_id_of(const std::string& file) {
  SpawnOptions options;
  options.argv = {"readelf", "--notes", file};
  std::string notes = run_command(options)->output;
  std::size_t begin = notes.find("Build ID: ") + 10;
  return notes.substr(begin, notes.find('\n', begin) - begin);
}

TEST_F(MergeCheck, ResultsMeasuredDifferentlyAreNotCompared) {
  have_baseline();
  std::string text = text_of(file(".instr_bench/baselines/main.jsonl"));
  const auto measured = nlohmann::json::parse(text.substr(0, text.find('\n')));
  // The C library that the worker has loaded is this machine's.
  SpawnOptions find;
  find.argv = {"g++", "-print-file-name=libc.so.6"};
  std::string libc = run_command(find)->output;
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
  auto otherwise = check({"compare", "b.jsonl", "main"});
  EXPECT_EQ(otherwise.exit_code, 2);
  EXPECT_TRUE(has(otherwise.errors, "--vary=libraries")) << otherwise.errors;
  EXPECT_TRUE(has(otherwise.errors, "  library libc.so.6: another, then " + id + "\n"))
      << otherwise.errors;
  EXPECT_EQ(check({"compare", "b.jsonl", "main", "--vary=libraries"}).exit_code, 0);

  changed = measured;
  changed["fingerprint"]["compiler"] = "another compiler";
  write(file("b.jsonl"), changed.dump() + text.substr(text.find('\n')));
  auto refused = check({"compare", "b.jsonl", "main"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(has(refused.errors, "compiler: another compiler, then ")) << refused.errors;
  EXPECT_TRUE(has(refused.errors, "--vary=compiler")) << refused.errors;
  EXPECT_EQ(check({"compare", "b.jsonl", "main", "--vary=compiler"}).exit_code, 0);
  // Before the run, too.
  auto run = check({"--definitions=quick.toml", "--filter=scaled", "--baseline=b.jsonl"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(has(run.errors, "compiler: another compiler, then ")) << run.errors;
  EXPECT_EQ(run.output, "");
}

TEST_F(MergeCheck, ResultsThatCannotBeComparedFail) {
  write(file("quick.toml"), std::string(kDefinitions) + R"(
[[benchmark]]
label = "grows"
setup = "long length = 0; volatile long sum = 0;"
stmt = "for (long i = 0; i < length; ++i) sum = sum + i; ++length;"
)");
  auto run = check({"--definitions=quick.toml", "--filter=scaled|grows", "--output=a.jsonl",
                    "--metrics=ir,cache"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  auto unsteady = check({"compare", "a.jsonl", "a.jsonl"});
  EXPECT_EQ(unsteady.exit_code, 3) << unsteady.output;
  EXPECT_TRUE(has(unsteady.output, "not steady before (")) << unsteady.output;
  auto allowed = check({"compare", "a.jsonl", "a.jsonl", "--allow-not-comparable"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.output;
  EXPECT_TRUE(has(allowed.output, "not comparable, warns")) << allowed.output;
  EXPECT_EQ(check({"compare", "a.jsonl", "a.jsonl", "--filter=scaled"}).exit_code, 0);

  // Each edit of the one line, and its effect.
  std::ifstream stream(file("a.jsonl"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  auto edited = [&](auto change) {
    std::string text;
    for (const std::string& line : lines) {
      auto json = nlohmann::json::parse(line);
      if (json.value("label", "") == "scaled") change(json);
      text += (json.contains("label") ? json.dump() : line) + "\n";
    }
    write(file("b.jsonl"), text);
    fs::copy_file(file("a.jsonl.functions.jsonl.gz"), file("b.jsonl.functions.jsonl.gz"),
                  fs::copy_options::overwrite_existing);
    return check({"compare", "b.jsonl", "a.jsonl", "--filter=scaled"});
  };
  auto lost = edited([](auto& json) { json["metrics"]["ir"] = nullptr; });
  EXPECT_EQ(lost.exit_code, 3) << lost.output << lost.errors;
  EXPECT_TRUE(has(lost.output, "b.jsonl:")) << lost.output;
  auto blocks = edited([](auto& json) { json["metrics"]["ir"] = 7; });
  EXPECT_EQ(blocks.exit_code, 2) << blocks.output;
  EXPECT_TRUE(has(blocks.errors, "`scaled/eager/forward/t1/cpu` has 7 instructions"))
      << blocks.errors;
  auto sum = edited([](auto& json) { json["metrics"]["ir"] = 7, json["blocks"] = {7, 7}; });
  EXPECT_EQ(sum.exit_code, 2) << sum.output;
  EXPECT_TRUE(has(sum.errors, "b.jsonl.functions.jsonl.gz, have ")) << sum.errors;
}

TEST_F(MergeCheck, TwoBuildsOfALibrary) {
  write(file("slow.cpp"), replaced(kSource, "  result.reserve(numbers.size());\n", ""));
  write(file("base.toml"), "[build]\ninclude_dirs = [\".\"]\nsources = [\"quick.cpp\"]\n");
  write(file("new.toml"), "[build]\ninclude_dirs = [\".\"]\nsources = [\"slow.cpp\"]\n");
  auto result = check(
      {"ab", "--build=base.toml", "--build=new.toml", "--definitions=quick.toml", "--output=both"});
  EXPECT_EQ(result.exit_code, 3) << result.output << result.errors;
  EXPECT_TRUE(has(result.output, "quick::squares(")) << result.output;
  auto again = check({"compare", "both/a.jsonl", "both/b.jsonl"});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_EQ(again.output, result.output);
  EXPECT_TRUE(stray_processes().empty());
}

TEST_F(MergeCheck, ShardsMergedAreTheRunWithoutShards) {
  std::vector<std::string> parts;
  for (const char* part : {"1", "2"}) {
    std::string name = "part" + std::string(part) + ".jsonl";
    ASSERT_EQ(check({"--definitions=quick.toml", "--shard=" + std::string(part) + "/2",
                     "--output=" + name})
                  .exit_code,
              0);
    parts.push_back(name);
  }
  have_baseline();
  auto missing = check({"merge", parts[0], "--output=merged.jsonl"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_TRUE(has(missing.errors, "missing: shard 2/2")) << missing.errors;
  auto merged = check({"merge", parts[0], parts[1], "--output=merged.jsonl"});
  EXPECT_EQ(merged.exit_code, 0) << merged.errors;
  auto compared = check({"compare", "main", "merged.jsonl", "--limit=ir=+0", "--forbid-new"});
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
  EXPECT_TRUE(has(compared.output, "2 same")) << compared.output;
}

TEST_F(MergeCheck, BisectSaysWhatGitUnderstands) {
  have_baseline();
  std::vector<std::string> step{"bisect", "--definitions=quick.toml", "--baseline=main",
                                "--key=squares/eager/forward/t1/cpu"};
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = step;
    all.insert(all.end(), more.begin(), more.end());
    return check(all).exit_code;
  };
  EXPECT_EQ(with({"--", "true"}), 0);
  EXPECT_EQ(with({"--", "false"}), 125);
  write(file("slow.cpp"), replaced(kSource, "  result.reserve(numbers.size());\n", ""));
  EXPECT_EQ(with({"--", "cp", "slow.cpp", "quick.cpp"}), 1);
  write(file("quick.cpp"), "this is not C++\n");
  EXPECT_EQ(with({}), 125);
  EXPECT_GT(check({"bisect", "--definitions=quick.toml", "--baseline=none", "--key=x"}).exit_code,
            127);
}

}  // namespace
}  // namespace instr::e2e::merge_check_test
