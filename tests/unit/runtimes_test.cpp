// The table of runtimes, compared with docs/TIMING.md.
#include "core/definitions/runtimes.h"

#include <gtest/gtest.h>

#include <set>

#include "core/definitions/requirement.h"
#include "core/measure/zygote_pool.h"
#include "tests/unit/documents.h"

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

TEST(Runtimes, AreFactsThatAgree) {
  EXPECT_EQ(kUsualRuntimes, (std::vector<Runtime>{Runtime::kEager, Runtime::kTorchScript}));
  for (const RuntimeFacts& one : kRuntimes) {
    EXPECT_EQ(is_script(one.runtime), one.runtime != Runtime::kEager) << one.name;
    // Runtimes that load TorchScript are counted where it is warm.
    EXPECT_EQ(one.zygote, is_compiled(one.runtime) ? WarmUp::kCompiler
                          : is_script(one.runtime) ? WarmUp::kTorchScript
                                                   : WarmUp::kEager);
    EXPECT_EQ(is_compiled(one.runtime) || one.body == Body::kTraced, !one.is_in_cpp) << one.name;
    for (const std::string& package : packages_of(one.runtime)) {
      EXPECT_TRUE(parse_package(package)) << package;
    }
    EXPECT_TRUE(is_compiled(one.runtime) || one.mode == nullptr) << one.name;
    EXPECT_TRUE(one.is_in_cpp || one.is_in_python) << one.name;
    EXPECT_EQ(runs_on(one.runtime, "cpu"), std::string(one.name).find("cuda") == std::string::npos)
        << one.name;
    const std::string device = one.device != nullptr ? one.device : "any";
    EXPECT_EQ(runs_on(one.runtime, "cuda"), device != "cpu") << one.name;
    if (one.libtorch != nullptr) {
      EXPECT_TRUE(satisfies("0", one.libtorch)) << one.name;
    }
  }
}

TEST(Runtimes, AreInTheTableOfTheDocument) {
  const auto rows = testing::rows_of(testing::source_file("docs/TIMING.md"), "`--runtime=`");
  ASSERT_EQ(rows.size() + 1, kRuntimes.size());  // eager needs no explanation
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RuntimeFacts& one = kRuntimes[i + 1];
    EXPECT_EQ(rows[i].front(), std::string("`") + one.name + "`");
    const std::string& what = rows[i].at(1);
    EXPECT_EQ(what.find("forward only") == std::string::npos, one.keeps_gradients) << one.name;
    EXPECT_EQ(what.find("LibTorch ") != std::string::npos, one.libtorch != nullptr) << one.name;
    if (one.libtorch != nullptr) {
      const std::string versions = std::string(one.libtorch).substr(2);
      const std::string version = versions.substr(0, versions.find(','));
      EXPECT_NE(what.find("LibTorch " + version + " and newer"), std::string::npos) << one.name;
    }
    EXPECT_EQ(what.find("skipped without") != std::string::npos, one.packages != nullptr)
        << one.name;
    for (const std::string& package : packages_of(one.runtime)) {
      const std::string name = package.substr(0, package.find_first_of("<>="));
      EXPECT_NE(what.find("`" + name + "`"), std::string::npos) << one.name;
    }
    EXPECT_EQ(what.find("CUDA's toolkit") != std::string::npos, one.cuda_header != nullptr)
        << one.name;
  }
}

}  // namespace
}  // namespace instr::runtimes_test
