#include <gtest/gtest.h>

#include "core/results/result_set.h"
#include "core/run/merge_shards.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::merge_test {
namespace {

using namespace testing;

ResultSet part(const std::string& name, std::optional<Shard> shard,
               std::vector<Measurement> measurements, const std::string& compiler = "clang 14") {
  std::map<std::string, std::vector<FunctionCost>> functions;
  for (const Measurement& measurement : measurements) {
    functions[measurement.variant.key] = {{"in " + name, "lib.so", 1}};
  }
  ResultSet set = results(name, std::move(measurements));
  set.results.header.shard = shard;
  if (!set.results.measurements.empty()) {
    set.results.header.fingerprint.entries = {{"compiler", compiler}};
  }
  set.functions = functions_from(std::move(functions));
  return set;
}

std::string error_of(std::vector<ResultSet> parts) {
  return error_text(merge(std::move(parts), {}));
}

TEST(Merge, HasTheMeasurementsAndFunctionsOfAllShards) {
  auto merged =
      value_of(merge({part("a", Shard{1, 3}, {counted("x", 1)}), part("b", Shard{2, 3}, {}),
                      part("c", Shard{3, 3}, {counted("y", 2), counted("z", 3)})},
                     {}));
  std::vector<std::string> keys;
  for (const Measurement& measurement : merged.results.measurements)
    keys.push_back(measurement.variant.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_FALSE(merged.results.header.shard);
  EXPECT_EQ(merged.results.header.fingerprint.get("compiler"), "clang 14");
  auto functions = value_of(merged.functions("z"));
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions.front().function, "in c");
  EXPECT_TRUE(merged.functions("nowhere")->empty());
}

TEST(Merge, AnEmptyFirstShardDoesNotHideTheOthersFingerprint) {
  auto merged =
      value_of(merge({part("a", Shard{1, 2}, {}), part("b", Shard{2, 2}, {counted("y", 2)})}, {}));
  EXPECT_EQ(merged.results.header.fingerprint.get("compiler"), "clang 14");
}

TEST(Merge, RefusesIncompleteOrMixedRuns) {
  std::string errors;
  const auto add = [&errors](std::vector<ResultSet> parts) {
    errors += error_of(std::move(parts)) + "\n";
  };
  add({part("a", Shard{1, 3}, {}), part("c", Shard{3, 3}, {})});
  add({part("a", Shard{1, 2}, {}), part("b", Shard{1, 2}, {})});
  add({part("a", Shard{1, 2}, {}), part("b", Shard{2, 3}, {})});
  add({part("a", {}, {counted("x", 1)}), part("b", {}, {counted("x", 1)})});
  add({part("a", {}, {counted("x", 1)}), part("b", {}, {counted("y", 1)}, "g++")});
  EXPECT_GOLDEN("merge/errors.txt", errors);
}

}  // namespace
}  // namespace instr::merge_test
