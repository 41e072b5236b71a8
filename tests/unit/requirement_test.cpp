#include "core/definitions/requirement.h"

#include "core/definitions/backends.h"
#include "tests/testing.h"

namespace instr::requirement_test {
namespace {

using namespace testing;

TEST(Requirement, ComparesNumbersNotText) {
  EXPECT_EQ(satisfies("2.13.0", ">=2.0"), true);
  EXPECT_EQ(satisfies("2.13.0", ">=2.2"), true);
  EXPECT_EQ(satisfies("2.13.0", "<2.2"), false);
  EXPECT_EQ(satisfies("1.13.1", ">=2.0"), false);
  EXPECT_EQ(satisfies("2.0.0", ">2.0.0"), false);
  EXPECT_EQ(satisfies("2.0.1", ">2.0.0"), true);
  EXPECT_EQ(satisfies("2.0.0", "<=2.0.0"), true);
}

TEST(Requirement, ComparesOnlyTheNumbersThatItHas) {
  EXPECT_EQ(satisfies("1.13.1", "==1.13"), true);
  EXPECT_EQ(satisfies("1.13.1", "<=1.13"), true);
  EXPECT_EQ(satisfies("1.13.1", ">1.13"), false);
  EXPECT_EQ(satisfies("1.13.1", "!=1.13"), false);
  EXPECT_EQ(satisfies("1.13.1", "==1.13.0"), false);
  EXPECT_EQ(satisfies("2.0", "==2.0.0"), true);
}

TEST(Requirement, NeedsAllParts) {
  EXPECT_EQ(satisfies("2.5.0", ">=2.0, <3"), true);
  EXPECT_EQ(satisfies("3.0.0", ">=2.0,<3"), false);
  EXPECT_EQ(satisfies("2.1.0", " >= 2.0 , != 2.1 "), false);
}

TEST(Requirement, IgnoresTextAfterTheNumbers) {
  EXPECT_EQ(satisfies("2.1.0a0+git1234", ">=2.1.0"), true);
  EXPECT_EQ(satisfies("2.13.0+cu121", "==2.13.0"), true);
  EXPECT_EQ(satisfies("1.13.", ">=1.13"), true);
}

TEST(Requirement, RefusesMalformedRequirements) {
  for (const char* text : {"", "2.0", "=2.0", "~=2.0", ">=", ">=two", ">=2.x", ">=2.0,", ",>=2.0",
                           ">=2.0 <3", ">=2.0.", ">=-1", ">=99999999999999999999"}) {
    const auto held = satisfies("2.0", text);
    ASSERT_FALSE(held) << text;
    EXPECT_FALSE(held.error().advice.empty()) << text;
  }
  // A part that does not hold must not hide a malformed part.
  EXPECT_FALSE(satisfies("1.0", ">=2.0, nonsense"));
  EXPECT_FALSE(satisfies("unknown", ">=2.0"));
  EXPECT_FALSE(satisfies("", ">=2.0"));
}

TEST(PackageRequirement, IsANameAndVersions) {
  const auto plain = value_of(parse_package(" Torch_XLA "));
  EXPECT_EQ(plain.name, "torch-xla");
  EXPECT_EQ(plain.versions, "");
  const auto versioned = value_of(parse_package("zope.-interface >= 1.0, <2"));
  EXPECT_EQ(versioned.name, "zope-interface");
  EXPECT_EQ(versioned.versions, ">= 1.0, <2");
}

TEST(PackageRequirement, RefusesAnythingElse) {
  for (const char* text : {"", " ", "-timm", "timm-", "ti mm", ">=1.0", "timm[x]",
                           "timm>=", "timm 1", "timm>=1, 2", "timm;"}) {
    const auto parsed = parse_package(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_FALSE(parsed.error().advice.empty()) << text;
  }
}

// --- Requirements of backends ---

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
}  // namespace instr::requirement_test
