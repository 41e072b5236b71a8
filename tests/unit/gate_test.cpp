#include "core/gate.h"

#include <gtest/gtest.h>

#include "tests/unit/compare_testing.h"

namespace instr {
namespace {

ResultsHeader measured_with(Fingerprint::Entries entries) {
  ResultsHeader header;
  header.fingerprint.entries = std::move(entries);
  return header;
}

TEST(Gate, ResultsThatWereMeasuredAlikeCanBeCompared) {
  auto header = measured_with({{"libtorch_version", "2.13.0"}, {"compiler", "clang 14"}});
  auto differences = check_comparable(header, header, {});
  ASSERT_TRUE(differences);
  EXPECT_TRUE(differences->empty());
}

TEST(Gate, WhatDiffersIsNamedWithTheFewestOptionsThatAllowIt) {
  auto before = measured_with({{"libtorch_version", "1.13.1"}, {"libtorch_build_id", "aa"},
                               {"flags", "-std=c++17"}, {"compiler", "clang 14"}});
  auto after = measured_with({{"libtorch_version", "2.13.0"}, {"libtorch_build_id", "bb"},
                              {"flags", "-std=c++20"}, {"compiler", "clang 14"}});
  auto refused = check_comparable(before, after, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(to_string(refused.error()),
            "the two were not measured alike (measure both with the same or, where that is under "
            "test, add --vary=libtorch):\n"
            "  libtorch_version: 1.13.1, then 2.13.0\n"
            "  libtorch_build_id: aa, then bb\n"
            "  flags: -std=c++17, then -std=c++20");
  auto allowed = check_comparable(before, after, {"libtorch"});
  ASSERT_TRUE(allowed);
  EXPECT_EQ(allowed->size(), 3u);
  after.fingerprint.entries[3].second = "g++ 12";
  refused = check_comparable(before, after, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("--vary=libtorch,compiler"), std::string::npos);
}

TEST(Gate, OnlyWhatIsWantedIsLeft) {
  ResultSet set = only(testing::before({testing::counted("a", 1), testing::counted("b", 2)}),
                       [](const Variant& variant) { return variant.key == "b"; });
  ASSERT_EQ(set.results.measurements.size(), 1u);
  EXPECT_EQ(set.results.measurements[0].variant.key, "b");
}

TEST(Gate, AMissingBaselineIsAnError) {
  GateOptions gate;
  auto none = find_reference(gate);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  gate.baseline = "no such baseline";
  EXPECT_FALSE(find_reference(gate));
}

}  // namespace
}  // namespace instr
