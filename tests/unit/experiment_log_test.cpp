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

class ExperimentLogTest : public ::testing::Test {
 protected:
  Expected<ExperimentLog> open(const ExperimentSetting& setting = kSetting) {
    return ExperimentLog::open(file_, variants_, setting);
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

TEST_F(ExperimentLogTest, AnotherMatrixIsRefusedAndItsFileStays) {
  {
    auto log = open();
    ASSERT_TRUE(log->append(record(measured("b/eager/forward/t1/cpu", {1, 2, 3}, 0))));
  }
  std::ofstream(file_, std::ios::app) << "truncated";
  const std::string before = text();
  variants_.pop_back();
  auto other = open();
  ASSERT_FALSE(other);
  EXPECT_HAS(other.error().what, ":1: ");
  EXPECT_HAS(other.error().what, "`b/eager/forward/t1/cpu`");
  variants_ = {parse_key("b/eager/forward/t1/cpu")};
  for (ExperimentSetting setting :
       {ExperimentSetting{4, {}, "2.13.0", "a CPU"}, ExperimentSetting{3, 10, "2.13.0", "a CPU"},
        ExperimentSetting{3, {}, "1.13.0", "a CPU"}, ExperimentSetting{3, {}, "2.13.0", "other"}}) {
    EXPECT_FALSE(open(setting));
  }
  EXPECT_EQ(text(), before);
}

TEST_F(ExperimentLogTest, RecordsOnCudaNameTheGpuAndAreResumedOnThatModelAlone) {
  variants_.push_back(parse_key("a/eager/forward/t1/cuda"));
  const auto on = [](const std::string& gpu) {
    return ExperimentSetting{3, {}, "2.13.0", "a CPU", gpu};
  };
  {
    auto log = open(on("NVIDIA H200"));
    for (const Variant& variant : {variants_[0], variants_[2]}) {
      ASSERT_TRUE(log->append(record_of(measured(variant.key, {1, 2, 3}, 0), on("NVIDIA H200"))));
    }
    EXPECT_EQ(log->records()[0].setting.device_model, "a CPU");
    EXPECT_EQ(log->records()[1].setting.device_model, "NVIDIA H200");
  }
  EXPECT_EQ(open(on("NVIDIA H200")).value().missing(variants_).size(), 1u);
  auto other = open(on("NVIDIA L4"));
  ASSERT_FALSE(other);
  EXPECT_HAS(other.error().what, "this was measured on another machine (NVIDIA H200)");
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
  EXPECT_TRUE(log->take_in(part, variants_, kSetting));
  std::ofstream(part) << other;
  EXPECT_FALSE(log->take_in(part, variants_, {4, std::nullopt, "2.13.0", "a CPU"}));
  EXPECT_TRUE(log->take_in(part, variants_, kSetting));
  EXPECT_EQ(text(), known);
  ASSERT_EQ(log->missing(variants_).size(), 1u);
  EXPECT_EQ(log->missing(variants_)[0].key, variants_[1].key);
  std::ofstream(part) << line(measured("c/eager/forward/t1/cpu", {1, 2, 3}, 0));
  EXPECT_FALSE(log->take_in(part, variants_, kSetting));
  EXPECT_FALSE(log->take_in(part / "none", variants_, kSetting));
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
