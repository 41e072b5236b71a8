// Tests that something is measured again if what its result depends on has changed.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/results/results_file.h"
#include "core/run/resume.h"
#include "tests/testing.h"
#include "tests/unit/experiment_testing.h"

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

}  // namespace
}  // namespace instr::dependencies_test
