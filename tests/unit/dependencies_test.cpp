// Tests that something is measured again if what its result depends on has changed.
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/checkout_guard.h"
#include "core/base/process.h"
#include "core/compile/cache.h"
#include "core/measure/loaded_files.h"
#include "core/results/results_file.h"
#include "core/run/measured_files.h"
#include "core/run/resume.h"
#include "tests/testing.h"
#include "tests/unit/experiment_testing.h"
#include "tests/unit/forked.h"

namespace instr::dependencies_test {
namespace {

using namespace testing;

const Variant kVariant = parse_key("a/eager/forward/t1/cpu");

RunIdentity make_run() {
  RunIdentity run{.libtorch = "2.13.0",
                  .device_model = "a CPU",
                  .environment = {"PATH=/bin", "SHLVL=1", "FLAG=1"}};
  run.session.entries = {{"libtorch_version", "2.13.0"},
                         {"libtorch_build_id", "abc"},
                         {"timed_library libc.so.6", "123"},
                         {"timed_cores", "2"}};
  run.config.wants_counts = false;
  run.config.wants_times = true;
  run.code = {{kVariant.key, "code"}};
  return run;
}

class Dependencies : public ::testing::Test {
 protected:
  Dependencies() {
    std::ofstream(backend_) << "speed = 1";
    measurement_.inputs.emplace();
    measurement_.inputs->emplace(backend_.string(), InputHashes().of(backend_));
  }

  Measurement record() const {
    Measurement made = measurement_;
    made.depends_on = with_files(list_dependencies(kVariant, run_), measurement_);
    return made;
  }
  std::string change_to(const RunIdentity& now) const {
    InputHashes files;
    return find_change(record(), kVariant, now, files);
  }
  template <class Change>
  std::string after(const Change& change) const {
    RunIdentity now = run_;
    change(now);
    return change_to(now);
  }

  TemporaryFolder scratch_;
  std::filesystem::path backend_ = scratch_.path() / "backend.py";
  RunIdentity run_ = make_run();
  Measurement measurement_ = measured(kVariant.key, {1, 2, 3}, 0);
};

TEST_F(Dependencies, NothingHasChanged) {
  EXPECT_EQ(after([](RunIdentity&) {}), "");
  EXPECT_EQ(after([](RunIdentity& now) { now.environment[1] = "SHLVL=2"; }), "");
  EXPECT_EQ(after([](RunIdentity& now) { now.environment.emplace_back("SLURM_JOB_ID=7"); }), "");
}

TEST_F(Dependencies, NamesWhatHasChanged) {
  const auto code = [](RunIdentity& now) { now.code[kVariant.key] = "other"; };
  EXPECT_EQ(after(code), "the definition");
  EXPECT_EQ(after([](RunIdentity& now) { now.session.entries[1].second = "abd"; }),
            "the libtorch_build_id");
  EXPECT_EQ(after([](RunIdentity& now) { now.session.entries[2].second = "124"; }),
            "a library that is loaded");
  EXPECT_EQ(after([](RunIdentity& now) { now.config.repetitions = 4; }),
            "the number of runs or iterations");
  EXPECT_EQ(after([](RunIdentity& now) { now.libtorch = "2.15.0"; }),
            "LibTorch (from 2.13.0 to 2.15.0)");
  EXPECT_EQ(after([](RunIdentity& now) { now.device_model = "other"; }),
            "the machine (it was a CPU)");
  EXPECT_EQ(after([](RunIdentity& now) { now.config.min_time = 1; }), "--min-time");
  EXPECT_EQ(after([](RunIdentity& now) { now.config.wants_operators = true; }), "what is measured");
}

TEST_F(Dependencies, VariablesThatReachTheWorkerCount) {
  for (const auto& variables : {std::vector<std::string>{"PATH=/bin", "FLAG=2"},
                                {"PATH=/bin"},
                                {"PATH=/bin", "FLAG=1", "NEW=1"}}) {
    EXPECT_HAS(after([&](RunIdentity& now) { now.environment = variables; }),
               "the environment variable ");
  }
  const std::string line = to_line(to_json(record()));
  EXPECT_HAS(line, "variable FLAG");
  EXPECT_EQ(line.find("FLAG=1"), std::string::npos);
}

TEST_F(Dependencies, ImportedFilesCount) {
  const Measurement before = record();
  std::ofstream(backend_) << "speed = 2";
  InputHashes files;
  EXPECT_EQ(find_change(before, kVariant, run_, files), "the file " + backend_.string());
  std::filesystem::remove(backend_);
  InputHashes later;
  EXPECT_EQ(find_change(before, kVariant, run_, later), "the file " + backend_.string());
}

TEST_F(Dependencies, WithUnknownFilesNothingIsFinal) {
  EXPECT_TRUE(is_final(record()));
  measurement_.inputs = std::nullopt;
  EXPECT_FALSE(is_final(record()));
}

TEST_F(Dependencies, ResultsWithoutDependenciesAreMeasuredAgain) {
  InputHashes files;
  EXPECT_HAS(find_change(measurement_, kVariant, run_, files), "the program");
}

TEST_F(Dependencies, ALongerTimeoutGivesAnotherChanceToWhatTimedOut) {
  const auto longer = [](RunIdentity& now) { now.config.timeout = 120; };
  EXPECT_EQ(after(longer), "");
  measurement_.outcome = Failure{FailureKind::kTimedOut, "stopped"};
  EXPECT_EQ(after([](RunIdentity&) {}), "");
  EXPECT_EQ(after([](RunIdentity& now) { now.config.timeout = 5; }), "");
  EXPECT_EQ(after(longer), "the timeout");
}

// As in a dry run.
TEST_F(Dependencies, WhatIsNotKnownIsNotCompared) {
  const auto without_worker = [](RunIdentity& now) {
    now.session = {};
    now.code = {};
  };
  EXPECT_EQ(after(without_worker), "");
  EXPECT_EQ(after([&](RunIdentity& now) {
              without_worker(now);
              now.code[kVariant.key] = "other";
            }),
            "the definition");
}

TEST_F(Dependencies, APackageIsAllItsCode) {
  const auto package = scratch_.path() / "package";
  std::filesystem::create_directories(package / "part");
  std::ofstream(package / "part" / "one.py") << "1";
  const std::string before = InputHashes().of(package);
  std::ofstream(package / "notes.txt") << "1";
  EXPECT_EQ(InputHashes().of(package), before);
  std::ofstream(package / "part" / "one.py") << "2";
  EXPECT_NE(InputHashes().of(package), before);
  using Clock = std::filesystem::file_time_type::clock;
  EXPECT_EQ(InputHashes().of_unchanged(package, Clock::now() - std::chrono::hours(1)), "changed");
  EXPECT_EQ(InputHashes().of_unchanged(package, Clock::now() + std::chrono::hours(1)),
            InputHashes().of(package));
}

TEST_F(Dependencies, OnCudaTheGpuIsTheMachine) {
  RunIdentity run = run_;
  run.gpu_model = "NVIDIA H200";
  const auto model_of = [&run](const char* key) {
    return list_dependencies(parse_key(key), run).get(kDeviceModel);
  };
  EXPECT_EQ(model_of("a/eager/forward/t1/cpu"), "a CPU");
  EXPECT_EQ(model_of("a/eager/forward/t1/cuda"), "NVIDIA H200");
}

// A lost worker is not a result of the snippet, a crash is.
TEST_F(Dependencies, LostWorkersAreMeasuredAgain) {
  Measurement failed = record();
  for (const auto& [kind, is_kept] : {std::pair{FailureKind::kWorkerLost, false},
                                      {FailureKind::kCompileError, false},
                                      {FailureKind::kCrashed, true}}) {
    failed.outcome = Failure{kind, "it ended"};
    EXPECT_EQ(is_final(failed), is_kept);
  }
}

TEST_F(Dependencies, SaysHowManyAreMeasuredAgainAndWhy) {
  EXPECT_EQ(describe_changes({"the file a.py", "the definition", "the definition"}, 5),
            "3 of 5 are measured again, since this has changed: the definition (2), "
            "the file a.py (1)");
}

// --- Files that a worker has loaded ---

using namespace std::chrono_literals;

timespec now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

// A copy of cat(1) that runs.
class UsedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy_file(*find_program("cat"), program_);
    std::this_thread::sleep_for(50ms);  // more than the difference of the clocks
    started_ = now();
    ASSERT_EQ(pipe(pipe_), 0);
    process_ =
        value_of(Process::spawn({.argv = {program_.string()}, .descriptors = {{pipe_[0], 0}}}));
  }

  void TearDown() override {
    close(pipe_[0]);
    close(pipe_[1]);
  }

  UsedFiles used() const { return UsedFiles::of(process_->pid(), {}, started_); }

  TemporaryFolder folder_;
  fs::path program_ = folder_.path() / "cat";
  timespec started_{};
  int pipe_[2] = {-1, -1};
  std::optional<Process> process_;
};

TEST_F(UsedFilesTest, AreUnchanged) { EXPECT_EQ(used().changed(), std::nullopt); }

TEST_F(UsedFilesTest, ReportAReplacedFile) {
  const UsedFiles before = used();
  fs::remove(program_);
  EXPECT_EQ(before.changed(), program_);
  fs::copy_file(*find_program("cat"), program_);
  EXPECT_EQ(before.changed(), program_);
}

TEST_F(UsedFilesTest, ReportAFileReplacedBeforeTheFirstLook) {
  fs::rename(program_, folder_.path() / "old");
  fs::copy_file(*find_program("cat"), program_);
  EXPECT_NE(used().changed(), std::nullopt);
  fs::rename(folder_.path() / "old", program_);
  EXPECT_EQ(used().changed(), program_);
}

TEST_F(UsedFilesTest, ContainPythonModules) {
  const fs::path worker = folder_.path() / "worker.so";
  const fs::path code = folder_.path() / "pycache/proc/self/fd/5/path/0/torch/jit";
  const fs::path module = folder_.path() / "path/0/torch/jit/_script.py";
  fs::create_directories(code);
  fs::create_directories(module.parent_path());
  ASSERT_TRUE(write_text(code / "_script.cpython-311.pyc", "code"));
  ASSERT_TRUE(write_text(module, "text"));
  std::this_thread::sleep_for(50ms);
  const UsedFiles before = UsedFiles::of(process_->pid(), worker, now());
  EXPECT_EQ(before.changed(), std::nullopt);
  ASSERT_TRUE(write_text(module, "another"));
  EXPECT_EQ(before.changed(), module);
}

// --- Files that a definition names ---

Variant variant_with(const std::string& setup) {
  Variant variant;
  variant.key = "model/eager/forward/t1/cpu";
  variant.setups = {{setup, {}}};
  return variant;
}

TEST(MeasuredFiles, AreNamedInQuotes) {
  using Files = std::set<std::filesystem::path>;
  EXPECT_EQ(named_files(variant_with("load(\"/a b/c.pt\"); f('x', \"y\", '/d'); a / b; \"no/e\"")),
            (Files{"/a b/c.pt", "/d"}));
  EXPECT_EQ(named_files(variant_with("it's \"/a\" and '/b\n\"/c\"")), (Files{"/a", "/b", "/c"}));
  EXPECT_EQ(named_files(variant_with("\"")), Files{});
}

TEST(MeasuredFiles, AreExplainedIfTheyAreMissing) {
  const TemporaryFolder folder;
  const std::string top = folder.path().string();
  std::filesystem::create_directories(folder.path() / "project");
  std::filesystem::create_directories(folder.path() / "tree");
  folder.write("project/model.pt", "a model");
  folder.write("tree/pointer.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  folder.write("tree/there.pt", "version 1");
  const auto explained = [&](const std::string& name) {
    return explain_missing_file(variant_with("load('" + top + "/tree/" + name + "')")).value_or("");
  };
  EXPECT_EQ(explained("model.pt"), "");
  Forked child([&] {
    ::setenv(kProjectVariable, (top + "/project").c_str(), 1);
    ::setenv(kTreeVariable, (top + "/tree").c_str(), 1);
    EXPECT_HAS(explained("model.pt"), top + "/project/model.pt is in the checked-out tree");
    EXPECT_TRUE(is_due_to_setup(explained("model.pt")));
    EXPECT_EQ(explained("nowhere.pt"), "");
  });
  EXPECT_EQ(child.begin().end(), 0);
  EXPECT_HAS(explained("pointer.pt"), "is a pointer of Git LFS");
  EXPECT_TRUE(is_due_to_setup("exception\n" + explained("pointer.pt")));
  EXPECT_EQ(explained("there.pt"), "");
  EXPECT_FALSE(is_due_to_setup("exception"));
}

}  // namespace
}  // namespace instr::dependencies_test
