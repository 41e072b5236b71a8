// The table of backends.
#include "core/definitions/backends.h"

#include <gtest/gtest.h>

#include "core/definitions/requirement.h"

namespace instr::backends_test {
namespace {

TEST(Backends, HaveRequirementsThatCanBeRead) {
  for (const BackendFacts& one : kBackends) {
    for (const std::string& package : packages_of(one.backend)) {
      EXPECT_TRUE(parse_package(package)) << package;
    }
    if (one.libtorch != nullptr) {
      EXPECT_TRUE(satisfies("0", one.libtorch)) << one.name;
    }
  }
}

}  // namespace
}  // namespace instr::backends_test
