// The table of runtimes.
#include <gtest/gtest.h>

#include "core/definitions/backends.h"
#include "core/definitions/requirement.h"

namespace instr::runtimes_test {
namespace {

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
