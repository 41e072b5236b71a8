// Programs that are counted instead of statements: their definitions, how they start, and the loops
// of Google Benchmark in a profile's parts.
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "core/measure/benchmark_loops.h"
#include "core/measure/import_costs.h"
#include "core/measure/program_run.h"
#include "tests/testing.h"

namespace instr::program_test {
namespace {

using namespace testing;

class ProgramDefinition : public ::testing::Test {
 protected:
  tl::expected<Definitions, Errors> load(const std::string& benchmark) {
    const fs::path file = folder_.path() / "d.toml";
    write(file, "schema = 1\n[[benchmark]]\n" + benchmark);
    return load_definitions({file});
  }

  TemporaryFolder folder_;
};

TEST_F(ProgramDefinition, IsAVariantForEachPointOfTheMatrix) {
  const auto loaded = value_of(
      load("label = \"server/check\"\ncommand = [\"build/server\", \"--n={n}\"]\nstdin = \"in\"\n"
           "exit_status = 3\nchildren = true\nenvironment = { A = \"1\" }\n"
           "matrix = { n = [1, 2] }\n"));
  const auto variants = value_of(expand(loaded.benchmarks));
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[1].key, "server/check/n=2");
  EXPECT_EQ(variants[1].language, Language::kProgram);
  const Program& program = *variants[1].program;
  EXPECT_EQ(program.command, (std::vector<std::string>{"build/server", "--n=2"}));
  EXPECT_EQ(program.folder, folder_.path());
  EXPECT_EQ(program.standard_input, folder_.path() / "in");
  EXPECT_EQ(program.exit_status, 3);
  EXPECT_TRUE(program.has_children);
  EXPECT_EQ(program.environment, (std::vector<std::pair<std::string, std::string>>{{"A", "1"}}));
  EXPECT_TRUE(is_only_programs(variants));
}

TEST_F(ProgramDefinition, HasNoCode) {
  const auto refused = load("label = \"a\"\ncommand = [\"x\"]\nstmt = \"f();\"\nsetup = \"\"\n");
  ASSERT_FALSE(refused.has_value());
  const std::string errors = error_lines(refused.error(), folder_.path());
  EXPECT_PRED_FORMAT2(has_part, errors, "`stmt` in a benchmark with `command`");
  EXPECT_PRED_FORMAT2(has_part, errors, "`setup` in a benchmark with `command`");
  EXPECT_PRED_FORMAT2(has_part,
                      error_lines(load("label = \"a\"\nstmt = \"f();\"\nstdin = \"x\"\n").error()),
                      "`stdin` in a benchmark without a `command`");
  EXPECT_PRED_FORMAT2(has_part, error_lines(load("label = \"a\"\ncommand = []\n").error()),
                      "`command` names no program");
}

class Command : public ::testing::Test {
 protected:
  fs::path make(const std::string& name, const std::string& text, mode_t mode = 0755) {
    write(folder_.path() / name, text);
    ::chmod((folder_.path() / name).c_str(), mode);
    return folder_.path() / name;
  }

  Expected<std::vector<std::string>> resolve(const std::string& name) {
    return resolve_command({.command = {name, "argument"}, .folder = folder_.path()});
  }

  TemporaryFolder folder_;
};

TEST_F(Command, IsTheProgramAsWritten) {
  make("own", "#!/bin/sh\n");
  EXPECT_EQ(value_of(resolve("./own")), (std::vector<std::string>{"./own", "argument"}));
  EXPECT_EQ(value_of(resolve("sh")).front().substr(0, 1), "/");
}

TEST_F(Command, IsTheInterpreterThatEnvWouldStart) {
  make("script", "#!/usr/bin/env sh\n");
  const auto command = value_of(resolve("./script"));
  ASSERT_EQ(command.size(), 3u);
  EXPECT_EQ(fs::path(command[0]).filename(), "sh");
  EXPECT_EQ(command[1], "./script");
}

TEST_F(Command, OfAProgramThatCannotBeCountedIsAnError) {
  make("text", "echo 1\n");
  make("closed", "#!/bin/sh\n", 0644);
  make("raised", "#!/bin/sh\n", 04755);
  EXPECT_PRED_FORMAT2(has_part, error_text(resolve("./none")), "there is no program `./none`");
  EXPECT_PRED_FORMAT2(has_part, error_text(resolve("./text")),
                      "neither an executable nor a script");
  EXPECT_PRED_FORMAT2(has_part, error_text(resolve("./closed")), "is not executable");
  EXPECT_PRED_FORMAT2(has_part, error_text(resolve("./raised")), "is set-uid, set-gid or has");
}

TEST(ProgramEnvironment, IsPinnedAndReplaced) {
  const auto environment = program_environment({.environment = {{"HOME", "/x"}, {"MINE", "1"}}});
  const auto count = [&](const std::string& variable) {
    return std::ranges::count(environment, variable);
  };
  EXPECT_EQ(count("HOME=/x"), 1);
  EXPECT_EQ(count("HOME=/"), 0);
  EXPECT_EQ(count("MINE=1"), 1);
  EXPECT_EQ(count("PYTHONHASHSEED=0"), 1);
}

// The parts that Callgrind wrote for a benchmark that pauses once, in two of its runs, and the
// same of the library's own calls, which are not in a loop.
std::vector<ProfilePart> parts_of_two_runs() {
  const std::string state = "benchmark::State::";
  const std::string begin = "--dump-after=" + state + "StartKeepRunning()";
  const std::string end = "--dump-before=" + state + "FinishKeepRunning()";
  const std::string pause = "--dump-before=" + state + "PauseTiming()";
  const std::string resume = "--dump-after=" + state + "ResumeTiming()";
  return {{resume, 2837464}, {begin, 0}, {pause, 7}, {resume, 9000}, {end, 945}, {pause, 20},
          {resume, 3440},    {begin, 0}, {pause, 5}, {resume, 9000}, {end, 690}, {pause, 20}};
}

TEST(BenchmarkLoops, LeaveOutWhatIsPausedAndWhatIsBetweenThem) {
  const auto loops = find_loops(parts_of_two_runs());
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].instructions, 952u);
  EXPECT_EQ(loops[1].instructions, 695u);
  EXPECT_EQ(loops[1].files.size(), 2u);
}

TEST(BenchmarkLoops, OfSeveralThreadsAreOne) {
  const auto loops = find_loops(parts_of_two_runs(), 2);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].instructions, 952u + 695u);
  EXPECT_TRUE(find_loops(parts_of_two_runs(), 4).empty());
}

TEST(BenchmarkName, IsMatchedExactly) {
  EXPECT_EQ(match_benchmark("BM_a/8"), "^BM_a/8$");
  EXPECT_EQ(match_benchmark("BM_t<std::vector<int>>/f(1.5)*"),
            "^BM_t<std::vector<int>>/f\\(1\\.5\\)\\*$");
}

// Callgrind's log while `mine` imported `enum`, and `enum` imported `types`; without the
// frames that follow.
constexpr const char* kImportLog =
    "**18986** mark 0\n"
    "instrumentation: on\n"
    "events-1: 10\n"
    "frames-1: 44\n"
    "events-1-0: 10\n"
    "**18986** mark 4\n"
    "events-1: 110\n"
    "**18986** mark 8\n"
    "events-1: 130\n"
    "**18986** mark 9\n"
    "events-1: 630\n"
    "**18986** mark 5\n"
    "events-1: 700\n"
    "**18986** mark 1\n"
    "events-1: 1000\n";

TEST(ImportCosts, AreThoseBetweenTheMarks) {
  const auto marks = read_import_marks(kImportLog);
  ASSERT_EQ(marks.size(), 6u);
  EXPECT_EQ(marks[1], (ImportMark{4, 110}));
  const auto costs =
      nlohmann::json::parse(describe_imports(marks, {"mine", "enum", "types"}, 1010));
  std::map<std::string, std::pair<int, int>> modules;
  for (const auto& function : costs.at("functions")) {
    const auto& code = function.at("code");
    modules[code.is_null() ? "" : code.at("name")] = {function.at("self"),
                                                      function.at("inclusive")};
  }
  EXPECT_EQ(
      modules,
      (std::map<std::string, std::pair<int, int>>{
          {"", {20, 1010}}, {"mine", {400, 990}}, {"enum", {90, 590}}, {"types", {500, 500}}}));
}

TEST(ImportCosts, AreATreeOfPaths) {
  const auto marks = read_import_marks(kImportLog);
  const CallTree tree = read_import_tree(describe_imports(marks, {"mine", "enum", "types"}, 1010));
  ASSERT_EQ(tree.nodes.size(), 4u);
  EXPECT_EQ(tree.nodes[0].total, 1010);
  EXPECT_EQ(tree.code_of(tree.nodes[3]).function, "types");
  EXPECT_EQ(tree.nodes[3].total, 500);
  EXPECT_EQ(tree.nodes[2].total, 590);
}

}  // namespace
}  // namespace instr::program_test
