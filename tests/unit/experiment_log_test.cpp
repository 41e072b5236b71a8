// The results file of experiments: resumed, merged, locked, and on a full disk.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/experiments/experiment_file.h"
#include "tests/testing.h"
#include "tests/unit/experiment_testing.h"

namespace instr::experiment_log_test {
namespace {

using namespace testing;

const ExperimentLog::FindChange kNoChange = [](const ExperimentRecord&) { return ""; };

class ExperimentLogTest : public ::testing::Test {
 protected:
  Expected<ExperimentLog> open(const ExperimentLog::FindChange& find_change = kNoChange) {
    return ExperimentLog::open(file_, variants_, find_change);
  }
  std::string text() const { return text_of(file_); }

  TemporaryFolder scratch_;
  std::filesystem::path file_ = scratch_.path() / "r.jsonl";
  std::vector<Variant> variants_{parse_key("a/eager/forward/t1/cpu"),
                                 parse_key("b/eager/forward/t1/cpu")};
};

TEST_F(ExperimentLogTest, ResumesAfterTheLastWholeLine) {
  auto log = open();
  ASSERT_TRUE(log) << log.error().what;
  EXPECT_EQ(log->missing(variants_).size(), 2u);
  ASSERT_TRUE(log->append(record(measured(variants_[0].key, {1, 2, 3}, 0))));
  const std::string whole = text();
  log = fail("closed");
  std::ofstream(file_, std::ios::app) << "{\"key\":\"b/ea";
  auto again = open();
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(text(), whole);
  ASSERT_EQ(again->missing(variants_).size(), 1u);
  EXPECT_EQ(again->missing(variants_)[0].key, variants_[1].key);
  EXPECT_EQ(again->records().size(), 1u);
}

TEST_F(ExperimentLogTest, ResultsOfOtherExperimentsStayBesideTheNewOnes) {
  {
    auto log = open();
    ASSERT_TRUE(log->append(record(measured("b/eager/forward/t1/cpu", {1, 2, 3}, 0))));
  }
  const std::string before = text();
  variants_.pop_back();
  auto other = open();
  ASSERT_TRUE(other) << other.error().what;
  EXPECT_TRUE(other->records().empty());
  EXPECT_EQ(other->missing(variants_).size(), 1u);
  EXPECT_EQ(other->lines(), 1u);
  ASSERT_TRUE(other->append(record(measured("a/eager/forward/t1/cpu", {1, 2, 3}, 0))));
  EXPECT_EQ(other->records().size(), 1u);
  EXPECT_TRUE(text().starts_with(before));
  EXPECT_EQ(parse_experiments(text(), "log")->size(), 2u);
}

TEST_F(ExperimentLogTest, WhatHasChangedIsMeasuredAgainAndTheNewResultCounts) {
  {
    auto log = open();
    for (const Variant& variant : variants_) {
      ASSERT_TRUE(log->append(record(measured(variant.key, {1, 2, 3}, 0))));
    }
  }
  const std::string before = text();
  const auto change = [](const ExperimentRecord& each) {
    return each.variant.label == "a" ? "the definition" : "";
  };
  {
    auto log = open(change);
    ASSERT_TRUE(log) << log.error().what;
    ASSERT_EQ(log->missing(variants_).size(), 1u);
    EXPECT_EQ(log->missing(variants_)[0].key, variants_[0].key);
    EXPECT_EQ(log->changes().at(variants_[0].key), "the definition");
    EXPECT_EQ(text(), before);  // until the new result is there
    EXPECT_EQ(log->records().size(), 1u);
    ASSERT_TRUE(log->append(record(measured(variants_[0].key, {5, 5, 5}, 0))));
    EXPECT_TRUE(log->changes().empty());
  }
  EXPECT_TRUE(text().starts_with(before));
  const auto latest = parse_experiments(text(), "log");
  ASSERT_EQ(latest->size(), 2u);
  EXPECT_EQ(latest->back().per_iter_times.front(), 5e-9);
  auto log = open();
  EXPECT_TRUE(log->missing(variants_).empty());
  EXPECT_EQ(log->lines(), 3u);
}

// Otherwise the results would seem to be complete.
TEST_F(ExperimentLogTest, ResultsThatWereReplacedDoNotReplaceMissingOnes) {
  auto log = open();
  ExperimentRecord first = record(measured(variants_[0].key, {1, 2, 3}, 0));
  first.experiments = 1;
  ASSERT_TRUE(log->append(first));
  first.experiments = 3;  // with another one
  ASSERT_TRUE(log->append(first));
  EXPECT_FALSE(whole_experiments(text(), "log", Incomplete::kRefused));
  EXPECT_EQ(whole_experiments(text(), "log", Incomplete::kAllowed)->size(), 1u);
}

TEST_F(ExperimentLogTest, SaysThatAnotherProgramChangedTheFile) {
  const auto damage = [this](const std::function<void()>& change) {
    std::filesystem::remove(file_);
    auto log = open();
    EXPECT_TRUE(log->append(record(measured(variants_[0].key, {1, 2, 3}, 0))));
    EXPECT_TRUE(log->finish());
    change();
    const auto finished = log->finish();
    return finished ? std::string() : finished.error().what;
  };
  EXPECT_EQ(damage([] {}), "");
  EXPECT_HAS(damage([&] { std::filesystem::resize_file(file_, 100); }), "has 100 bytes instead of");
  EXPECT_HAS(damage([&] { std::ofstream(file_, std::ios::app) << "more"; }), "bytes instead of");
  EXPECT_HAS(damage([&] { std::filesystem::remove(file_); }), "was removed or replaced");
}

TEST_F(ExperimentLogTest, RecordsOnCudaNameTheGpu) {
  const ExperimentSetting setting{3, {}, "2.13.0", "a CPU", "NVIDIA H200"};
  const auto device_of = [&](const char* key) {
    return record_of(measured(key, {1, 2, 3}, 0), setting).setting.device_model;
  };
  EXPECT_EQ(device_of("a/eager/forward/t1/cpu"), "a CPU");
  EXPECT_EQ(device_of("a/eager/forward/t1/cuda"), "NVIDIA H200");
}

// A lost worker is not a result of the snippet, a crash is.
TEST_F(ExperimentLogTest, LostWorkersAreMeasuredAgain) {
  auto log = open();
  ASSERT_TRUE(log) << log.error().what;
  Measurement lost{variants_[0], Failure{FailureKind::kWorkerLost, "it ended"}, 0};
  Measurement crashed{variants_[1], Failure{FailureKind::kCrashed, "SIGSEGV: a: b"}, 0};
  ASSERT_TRUE(log->append(record(lost)));
  const std::size_t lost_size = text().size();
  ASSERT_TRUE(log->append(record(crashed)));
  const std::string kept = text().substr(lost_size);
  log = fail("closed");
  log = open();
  ASSERT_TRUE(log) << log.error().what;
  EXPECT_EQ(text(), kept);
  ASSERT_EQ(log->records().size(), 1u);
  Measurement back = measurement_of(log->records()[0]);
  EXPECT_EQ(std::get<Failure>(back.outcome).kind, FailureKind::kCrashed);
  EXPECT_EQ(std::get<Failure>(back.outcome).message, "SIGSEGV: a: b");
  auto rest = log->missing(variants_);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].key, variants_[0].key);
  // The file was replaced: later lines are in the new one.
  ASSERT_TRUE(log->append(record(measured(variants_[0].key, {1, 2, 3}, 0))));
  EXPECT_EQ(parse_experiments(text(), "log")->size(), 2u);
}

// Results of runs elsewhere, which may still be writing.
TEST_F(ExperimentLogTest, TakesInWhatItLacks) {
  const std::filesystem::path part = scratch_.path() / "part.jsonl";
  const auto line = [](const Measurement& measurement) {
    return to_json(record(measurement)).dump() + "\n";
  };
  const std::string known = line(measured(variants_[0].key, {1, 2, 3}, 0));
  const std::string other = line(measured(variants_[0].key, {4, 5, 6}, 0));
  const std::string lost = line({variants_[1], Failure{FailureKind::kWorkerLost, "it ended"}, 0});
  auto log = open();
  ASSERT_TRUE(log) << log.error().what;
  std::ofstream(part) << known << lost << "{\"mod";
  EXPECT_TRUE(log->take_in(part, variants_, [](const auto&) { return "the definition"; }));
  EXPECT_EQ(text(), "");
  EXPECT_TRUE(log->take_in(part, variants_, kNoChange));
  std::ofstream(part) << other;
  EXPECT_TRUE(log->take_in(part, variants_, kNoChange));
  EXPECT_EQ(text(), known);
  ASSERT_EQ(log->missing(variants_).size(), 1u);
  EXPECT_EQ(log->missing(variants_)[0].key, variants_[1].key);
  std::ofstream(part) << line(measured("c/eager/forward/t1/cpu", {1, 2, 3}, 0));
  EXPECT_TRUE(log->take_in(part, variants_, kNoChange));
  EXPECT_FALSE(log->take_in(part / "none", variants_, kNoChange));
  EXPECT_EQ(text(), known);
}

TEST_F(ExperimentLogTest, OneRunAtATimeWritesToIt) {
  auto log = open();
  ASSERT_TRUE(log) << log.error().what;
  auto other = open();
  ASSERT_FALSE(other);
  EXPECT_HAS(other.error().what, "another run writes to this file");
  log = fail("closed");
  EXPECT_TRUE(open());
}

// A limit of this process stands in for a full disk.
TEST_F(ExperimentLogTest, UnwrittenLinesAreKeptUntilTheyCanBeWritten) {
  auto log = open();
  ASSERT_TRUE(log) << log.error().what;
  ASSERT_TRUE(log->append(record(measured(variants_[0].key, {1, 2, 3}, 0))));
  const std::string whole = text();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto old_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit little{whole.size() + 100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_FALSE(log->append(record(measured(variants_[1].key, {1, 2, 3}, 0))));
  EXPECT_EQ(text(), whole);
  EXPECT_EQ(log->unwritten(), 1u);
  EXPECT_FALSE(log->finish());
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(log->finish());
  EXPECT_EQ(log->unwritten(), 0u);
  EXPECT_EQ(parse_experiments(text(), "log")->size(), 2u);
}

TEST_F(ExperimentLogTest, OtherFilesAreRefused) {
  // Whatever it is, and even if none of its lines is complete.
  for (const char* other : {"{\"schema\":1}\n", "notes", "schema = 1"}) {
    std::ofstream(file_, std::ios::trunc) << other;
    EXPECT_FALSE(open());
    EXPECT_FALSE(ExperimentLog::check(file_));
    EXPECT_EQ(text(), other);
  }
  std::ofstream(file_, std::ios::trunc) << "{\"mod";
  EXPECT_TRUE(open());
  EXPECT_FALSE(ExperimentLog::check("/dev/null"));
  std::filesystem::remove(file_);
  std::filesystem::create_directory(file_);
  EXPECT_FALSE(open());
}

}  // namespace
}  // namespace instr::experiment_log_test
