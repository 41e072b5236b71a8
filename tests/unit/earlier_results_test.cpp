// The results that a file has before a run that goes on with it.

#include "core/run/recorder.h"
#include "core/run/resume.h"
#include "tests/testing.h"
#include "tests/unit/experiment_testing.h"

namespace instr::earlier_results_test {
namespace {

using namespace testing;

const FindChange kNoChange = [](const Measurement&) { return ""; };

std::vector<std::string> keys_of(const EarlierResults& earlier) {
  std::vector<std::string> keys;
  for (const auto& [key, measurement] : earlier.used) keys.push_back(key);
  return keys;
}

class EarlierResultsTest : public ::testing::Test {
 protected:
  static Measurement timed(const std::string& label, double time = 1) {
    return measured(label + "/eager/forward/t1/cpu", {time, 2, 3}, 0);
  }

  // Writes a results file.
  void write(const std::vector<Measurement>& measurements, bool is_complete = true,
             const std::string& name = "r.jsonl", const std::vector<std::string>& strangers = {}) {
    ResultsHeader header = make_results_header({}, {});
    header.fingerprint.entries = {{"libtorch_version", "2.13.0"}};
    header.commit = "abc";
    auto writer = value_of(
        ResultsWriter::create(value_of(ResultsTarget::open(scratch_.path() / name)), header));
    for (const Measurement& measurement : measurements) EXPECT_TRUE(writer.append(measurement));
    EXPECT_TRUE(writer.finish(is_complete, strangers));
  }

  EarlierResults read(const FindChange& find_change = kNoChange) const {
    return value_of(read_earlier(file_, resumption(find_change)));
  }

  Resumption resumption(const FindChange& find_change = kNoChange) const {
    MeasureConfig config;
    config.wants_counts = false;
    config.wants_times = true;
    return {config, variants_by_key(variants_), find_change};
  }

  TemporaryFolder scratch_;
  std::filesystem::path file_ = scratch_.path() / "r.jsonl";
  std::vector<Variant> variants_{parse_key("a/eager/forward/t1/cpu"),
                                 parse_key("b/eager/forward/t1/cpu")};
};

TEST_F(EarlierResultsTest, AreWhatAKilledRunHasWritten) {
  EXPECT_TRUE(read().used.empty());
  std::ofstream(file_).flush();
  EXPECT_TRUE(read().used.empty());
  write({timed("a")}, /*is_complete=*/false);
  std::ofstream(file_, std::ios::app) << "{\"key\":\"b/ea";
  const EarlierResults earlier = read();
  EXPECT_EQ(keys_of(earlier), (std::vector<std::string>{variants_[0].key}));
  EXPECT_EQ(earlier.header.commit, "");
}

TEST_F(EarlierResultsTest, OfOtherVariantsStayAsTheyAre) {
  write({timed("a"), timed("other")});
  const EarlierResults earlier = read();
  ASSERT_EQ(earlier.others.size(), 1u);
  EXPECT_EQ(earlier.header.commit, "abc");
  ResultsHeader header;
  header.fingerprint.entries = {{"libtorch_version", "2.13.0"}};
  header.commit = "abc";
  EXPECT_EQ(value_of(with_earlier(header, earlier)).commit, "abc");
  header.commit = "def";
  EXPECT_EQ(value_of(with_earlier(header, earlier)).commit, "");
  header.fingerprint.entries[0].second = "2.14.0";
  EXPECT_HAS(error_text(with_earlier(header, earlier)),
             "1 result that were measured differently: libtorch_version: "
             "2.13.0, then 2.14.0");
}

// A commit is recorded only for results without such files (Recording).
TEST_F(EarlierResultsTest, KeepTheirFilesThatAreNotOfTheCommit) {
  const std::string kernel = "kernel.h differs from the commit";
  write({timed("other")}, /*is_complete=*/true, "r.jsonl", {kernel});
  ResultsHeader header = read().header;
  header.strangers.clear();
  header = value_of(with_earlier(header, read()));
  EXPECT_EQ(header.strangers, (std::vector<std::string>{kernel}));

  Recorder recorder(value_of(ResultsTarget::open(file_)), {});
  recorder.open(header, read().others);
  recorder.finish(/*is_complete=*/true, {kernel, "new.h is not in the commit"});
  EXPECT_EQ(read().header.strangers,
            (std::vector<std::string>{kernel, "new.h is not in the commit"}));
}

TEST_F(EarlierResultsTest, WhatHasChangedIsNotUsed) {
  write({timed("a"), timed("b")});
  const EarlierResults earlier = read(
      [](const Measurement& each) { return each.variant.label == "a" ? "the definition" : ""; });
  EXPECT_EQ(keys_of(earlier), (std::vector<std::string>{variants_[1].key}));
  EXPECT_EQ(earlier.changes.at(variants_[0].key), "the definition");
  EXPECT_TRUE(earlier.others.empty());
  EXPECT_EQ(list_staying(earlier, {variants_[0]}).size(), 1u);
  EXPECT_TRUE(list_staying(earlier, {}).empty());
}

// Until then it stays in the file, so that a killed run loses nothing.
TEST_F(EarlierResultsTest, AChangedOneIsReplacedByTheNewOne) {
  Measurement before = timed("a", 1);
  Measurement after = timed("a", 9);
  before.depends_on.entries = {{"definition", "1"}, {"file a.h", "x"}};
  after.depends_on.entries = {{"definition", "1"}, {"file a.h", "y"}};
  write({before, after});
  const EarlierResults earlier = read();
  ASSERT_EQ(earlier.used.size(), 1u);
  EXPECT_EQ(find_timing(earlier.used.at(variants_[0].key))->of(kWall)[0], 9);
  // Parts of one result have files of their own.
  after.depends_on.entries = {{"definition", "1"}, {"file b.h", "y"}};
  after.outcome = Counted{};
  after.verification = Verification{VerificationCode::kPass, ""};
  write({before, after});
  EXPECT_EQ(find_timing(read().used.at(variants_[0].key))->of(kWall)[0], 1);
}

TEST_F(EarlierResultsTest, LostWorkersAreNoResults) {
  write({{variants_[0], Failure{FailureKind::kWorkerLost, "it ended"}, 0},
         {variants_[1], Failure{FailureKind::kCrashed, "SIGSEGV: a: b"}, 0}});
  const EarlierResults earlier = read();
  ASSERT_EQ(keys_of(earlier), (std::vector<std::string>{variants_[1].key}));
  EXPECT_EQ(reason_of(earlier.used.at(variants_[1].key)), "crashed: SIGSEGV: a: b");
}

// Results of runs elsewhere, which may still be writing.
TEST_F(EarlierResultsTest, TakeInWhatTheyLack) {
  write({timed("a", 1)});
  write({timed("a", 7), timed("b"), timed("other")}, /*is_complete=*/false, "part.jsonl");
  const auto part = scratch_.path() / "part.jsonl";
  std::ofstream(part, std::ios::app) << "{\"mod";
  EarlierResults earlier = read();
  const Resumption usual = resumption();
  EXPECT_EQ(take_in(earlier, part, resumption([](const auto&) { return "the definition"; })), 0u);
  EXPECT_EQ(earlier.changes.size(), 1u);
  EXPECT_EQ(take_in(earlier, part, usual), 1u);
  EXPECT_TRUE(earlier.changes.empty());
  EXPECT_EQ(timing_of(earlier.used.at(variants_[0].key)).of(kWall)[0], 1);
  EXPECT_TRUE(earlier.others.empty());
  EXPECT_EQ(earlier.header.commit, "");
  EXPECT_EQ(take_in(earlier, part / "none", usual), 0u);
}

// A run that was killed between counting and timing.
TEST_F(EarlierResultsTest, WithoutAPartAreNotUsed) {
  write({timed("a")});
  Resumption counting = resumption();
  counting.config.wants_counts = true;
  const EarlierResults earlier = value_of(read_earlier(file_, counting));
  EXPECT_TRUE(earlier.used.empty());
  EXPECT_EQ(list_staying(earlier, {variants_[0]}).size(), 1u);  // until there is a whole one
  EXPECT_EQ(read().used.size(), 1u);
}

TEST_F(EarlierResultsTest, OtherFilesAreRefused) {
  std::ofstream(file_) << "notes";
  EXPECT_FALSE(read_earlier(file_, resumption()));
}

}  // namespace
}  // namespace instr::earlier_results_test
