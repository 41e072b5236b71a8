// The table of runtimes.
#include "core/definitions/runtimes.h"

#include <gtest/gtest.h>

#include <set>

#include "core/definitions/requirement.h"

namespace instr::runtimes_test {
namespace {

TEST(Runtimes, HaveDistinctNamesAndTitles) {
  std::set<std::string> names;
  std::set<std::string> titles;
  for (const RuntimeFacts& one : kRuntimes) {
    names.insert(one.name);
    titles.insert(one.title);
    EXPECT_EQ(runtime_from(one.name), one.runtime);
    EXPECT_STREQ(to_string(one.runtime), one.name);
  }
  EXPECT_EQ(names.size(), kRuntimes.size());
  EXPECT_EQ(titles.size(), kRuntimes.size());
  EXPECT_EQ(runtime_from("Eager"), std::nullopt);
}

TEST(Runtimes, HaveRequirementsThatCanBeRead) {
  for (const RuntimeFacts& one : kRuntimes) {
    for (const std::string& package : packages_of(one.runtime)) {
      EXPECT_TRUE(parse_package(package)) << package;
    }
    if (one.libtorch != nullptr) {
      EXPECT_TRUE(satisfies("0", one.libtorch)) << one.name;
    }
  }
}

}  // namespace
}  // namespace instr::runtimes_test
