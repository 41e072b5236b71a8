#include "core/results/baselines.h"

#include <iterator>

#include "core/base/private_folder.h"
#include "core/results/results_file.h"
#include "tests/testing.h"

namespace instr::baselines_test {
namespace {

using namespace testing;

// Runs in a new project, without the caller's settings.
class Baselines : public ::testing::Test {
 protected:
  void SetUp() override {
    old_ = fs::current_path();
    project_ = folder_.path() / "project";
    fs::create_directories(project_ / "sub" / "deeper");
    fs::current_path(project_);
  }
  void TearDown() override { fs::current_path(old_); }

  void keep(const fs::path& file, const std::string& text, const std::string& profiles) {
    write(file, text);
    if (!profiles.empty()) write(profiles_path(file), profiles);
  }

  TemporaryFolder folder_;
  const ScopedVariable baselines_{"INSTR_BENCH_BASELINES"};
  fs::path project_;
  fs::path old_;
};

TEST_F(Baselines, AreInTheNearestProject) {
  EXPECT_EQ(baselines_folder(), fs::canonical(project_) / ".instr_bench/baselines");
  fs::create_directories(project_ / ".git");
  fs::current_path(project_ / "sub/deeper");
  EXPECT_EQ(baselines_folder(), fs::canonical(project_) / ".instr_bench/baselines");
  fs::create_directories(project_ / "sub/.instr_bench");
  EXPECT_EQ(baselines_folder(), fs::canonical(project_) / "sub/.instr_bench/baselines");
  baselines_.set("/elsewhere");
  EXPECT_EQ(baselines_folder(), "/elsewhere");
}

TEST_F(Baselines, AreMadeListedFoundAndRemoved) {
  EXPECT_TRUE(baseline_names().empty());
  auto draft = value_of(BaselineDraft::start("main"));
  keep(draft.file(), "one", "functions");
  EXPECT_TRUE(baseline_names().empty());  // not yet complete
  EXPECT_FALSE(find_baseline("main"));
  auto made = value_of(draft.publish(draft.file()));
  EXPECT_FALSE(fs::exists(draft.file()));
  EXPECT_EQ(text_of(made), "one");
  EXPECT_EQ(text_of(profiles_path(made)), "functions");
  EXPECT_EQ(baseline_names(), std::vector<std::string>{"main"});
  EXPECT_EQ(find_baseline("main"), made);
  ASSERT_TRUE(remove_baseline("main"));
  EXPECT_TRUE(baseline_names().empty());
  EXPECT_FALSE(fs::exists(profiles_path(made)));
  EXPECT_FALSE(remove_baseline("main"));
}

TEST_F(Baselines, CopyAnotherFileWithItsFunctions) {
  keep("old.jsonl", "old", "old functions");
  ASSERT_TRUE(BaselineDraft::start("main")->publish("old.jsonl"));
  EXPECT_TRUE(fs::exists("old.jsonl"));
  keep("new.jsonl", "new", "");
  auto made = value_of(BaselineDraft::start("main")->publish("new.jsonl"));
  EXPECT_EQ(text_of(made), "new");
  EXPECT_FALSE(fs::exists(profiles_path(made)));  // not those of other results
}

TEST_F(Baselines, ConcurrentSavesLeaveTheLastOne) {
  auto first = BaselineDraft::start("main");
  auto second = BaselineDraft::start("main");
  ASSERT_TRUE(first && second);
  keep(first->file(), "first", "functions of the first");
  keep(second->file(), "second", "");
  auto made = value_of(first->publish(first->file()));
  EXPECT_EQ(text_of(made), "first");
  EXPECT_EQ(text_of(profiles_path(made)), "functions of the first");
  ASSERT_TRUE(second->publish(second->file()));
  EXPECT_EQ(text_of(made), "second");
  EXPECT_FALSE(fs::exists(profiles_path(made)));
}

TEST_F(Baselines, InterruptedRunsAreKeptBesideThem) {
  fs::path kept;
  {
    auto draft = BaselineDraft::start("main");
    keep(draft->file(), "half", "functions");
    kept = draft->keep().value();
    EXPECT_TRUE(BaselineDraft::start("main"));
  }
  EXPECT_EQ(text_of(kept), "half");
  EXPECT_EQ(text_of(profiles_path(kept)), "functions");
  EXPECT_TRUE(baseline_names().empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(baselines_folder()), fs::directory_iterator()), 2);
}

TEST_F(Baselines, NamesAreNotPaths) {
  for (const char* name : {"", "a/b", "../x", ".hidden", "-x", "a b", "a\nb"}) {
    EXPECT_FALSE(baseline_path(name)) << name;
    EXPECT_FALSE(remove_baseline(name)) << name;
  }
  EXPECT_TRUE(baseline_path("main-2.1_x"));
}

TEST_F(Baselines, AMisspeltNameSuggestsTheNearest) {
  keep("r.jsonl", "x", "");
  ASSERT_TRUE(BaselineDraft::start("main")->publish("r.jsonl"));
  auto found = find_baseline("mian");
  ASSERT_FALSE(found);
  EXPECT_EQ(to_string(found.error()),
            "there is no baseline `mian`, and no such file: make one with instr_bench --save=mian; "
            "did you mean "
            "`main`?");
}

}  // namespace
}  // namespace instr::baselines_test
