// The file of accepted changes, and which changes it lets pass.
#include "core/compare/accepted.h"

#include "core/base/private_folder.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::accepted_test {
namespace {

using namespace testing;

const Acceptance kAccepted{"matmul/*/t1/cpu",
                           "instructions",
                           1000,
                           2000,
                           "0123456789ab",
                           "Ada",
                           "the copy is needed, \"for now\" (#12)"};

class AcceptedFile : public ::testing::Test {
 protected:
  std::string error_of(const std::string& text) const {
    write(file_, text);
    auto read = read_accepted(file_);
    return read ? "no error" : to_string(read.error().front());
  }
  static bool nothing(const Acceptance&) { return false; }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "accepted.csv";
};

TEST_F(AcceptedFile, ReadsTheLinesThatItWrites) {
  EXPECT_EQ(read_accepted(file_), Acceptances{});
  const Acceptance odd{"=odd, \"key\"", "allocs", 4, 5.5, "", "", "why"};
  const Acceptance comment{"# not a comment", "instructions", 1, 2, "", "", "why"};
  ASSERT_TRUE(write_accepted(file_, {kAccepted, odd, comment}, nothing));
  EXPECT_EQ(read_accepted(file_), (Acceptances{kAccepted, odd, comment}));
}

TEST_F(AcceptedFile, RemovesLinesWithTheirComments) {
  const std::string header = "keys,metric,before,after,commit,who,why\n";
  std::ofstream(file_) << "# ours\n"
                       << header
                       << "# a\na,instructions,1,2,,,why\n# b\nb,instructions,1,2,,,why\n# end";
  ASSERT_TRUE(write_accepted(file_, {}, [](const Acceptance& line) { return line.keys == "a"; }));
  EXPECT_EQ(text_of(file_), "# ours\n" + header + "# b\nb,instructions,1,2,,,why\n# end\n");
}

TEST_F(AcceptedFile, KeepsItsLineEnds) {
  const std::string header = "keys,metric,before,after,commit,who,why\r\n";
  write(file_, "# ours\r\n" + header + "a,instructions,1,2,,,why\r\n");
  ASSERT_TRUE(write_accepted(file_, {{"b", "allocs", 1, 2, "", "", "why"}}, nothing));
  EXPECT_EQ(text_of(file_),
            "# ours\r\n" + header + "a,instructions,1,2,,,why\r\nb,allocs,1,2,,,why\r\n");
}

TEST_F(AcceptedFile, AddsNewLines) {
  ASSERT_TRUE(write_accepted(file_, {kAccepted}, nothing));
  Acceptance other = kAccepted;
  other.metric = "allocs";
  ASSERT_TRUE(write_accepted(file_, {kAccepted, other}, nothing));
  EXPECT_EQ(read_accepted(file_), (Acceptances{kAccepted, other}));
  ASSERT_TRUE(write_accepted(file_, {},
                             [](const Acceptance& line) { return line.metric == "instructions"; }));
  EXPECT_EQ(read_accepted(file_), Acceptances{other});
}

TEST_F(AcceptedFile, ReportsErrorsWithTheirPlaces) {
  const std::string header = "keys,metric,before,after,commit,who,why\n";
  std::string errors;
  for (const std::string& text :
       {std::string("key,metric\n"), header + "a,instructions,1,2\n", header + "a,irr,1,2,,,why\n",
        header + "a,instructions,1,x,,,why\n", header + "a,instructions,1,2,,,\n"}) {
    errors += error_of(text).substr(folder_.path().string().size() + 1) + "\n";
  }
  EXPECT_GOLDEN("accepted/errors.txt", errors);
  EXPECT_EQ(error_of(header + "a,instructions,1,2,,,why\n"), "no error");
}

TEST(Accepted, MatchesKeysAndOneStep) {
  const auto holds = [](const char* keys, const char* key) {
    Acceptance acceptance = kAccepted;
    acceptance.keys = keys;
    return find_accepted({acceptance}, key, "instructions", 1000, 2000) != nullptr;
  };
  EXPECT_TRUE(holds("matmul/mm/t1/cpu", "matmul/mm/t1/cpu"));
  EXPECT_TRUE(holds("matmul/*/t1/*", "matmul/mm/n=4/t1/cpu"));
  EXPECT_TRUE(holds("*", "anything"));
  EXPECT_FALSE(holds("matmul/*/t1/cpu", "matmul/mm/t2/cpu"));
  EXPECT_FALSE(holds("matmul/mm", "matmul/mm/t1/cpu"));
  EXPECT_FALSE(holds("*mm", "matmul/mm/t1/cpu"));
  EXPECT_FALSE(find_accepted({kAccepted}, "matmul/a/t1/cpu", "allocs", 1000, 2000));
  EXPECT_FALSE(find_accepted({kAccepted}, "matmul/a/t1/cpu", "instructions", 1000, 2001));
  EXPECT_FALSE(find_accepted({kAccepted}, "matmul/a/t1/cpu", "instructions", 999, 2000));
}

TEST(Accepted, LetsAChangePassAndShowsIt) {
  CompareOptions options;
  const auto compared = [&options](double before, double after) {
    auto comparison =
        value_of(compare(results("before", {counted("matmul/a/t1/cpu", before)}),
                         results("after", {counted("matmul/a/t1/cpu", after)}), options));
    return comparison;
  };
  EXPECT_EQ(compared(1000, 2000).verdict, Verdict::kFails);
  options.accepted = {kAccepted};
  const Comparison passes = compared(1000, 2000);
  EXPECT_EQ(passes.verdict, Verdict::kPasses);
  ASSERT_EQ(passes.rows.size(), 1u);
  EXPECT_EQ(passes.rows[0].state, RowState::kSlower);
  EXPECT_EQ(passes.rows[0].metrics[0].accepted, kAccepted);
  EXPECT_HAS(passes.rows[0].reason, "instructions accepted: the copy is needed");
  // Neither another step, nor a further step once the base has this one.
  EXPECT_EQ(compared(1000, 2100).verdict, Verdict::kFails);
  EXPECT_EQ(compared(2000, 3000).verdict, Verdict::kFails);
}

}  // namespace
}  // namespace instr::accepted_test
