#include "core/run/measured_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/checkout_guard.h"
#include "tests/testing.h"
#include "tests/unit/forked.h"

namespace instr::measured_files_test {
namespace {

using namespace testing;

Variant variant_with(const std::string& setup) {
  Variant variant;
  variant.key = "model/eager/forward/t1/cpu";
  variant.setups = {{setup, {}}};
  return variant;
}

TEST(MeasuredFiles, AreNamedInQuotes) {
  using Files = std::set<std::filesystem::path>;
  EXPECT_EQ(named_files(variant_with("load(\"/a b/c.pt\"); f('x', \"y\", '/d'); a / b; \"no/e\"")),
            (Files{"/a b/c.pt", "/d"}));
  EXPECT_EQ(named_files(variant_with("it's \"/a\" and '/b\n\"/c\"")), (Files{"/a", "/b", "/c"}));
  EXPECT_EQ(named_files(variant_with("\"")), Files{});
}

TEST(MeasuredFiles, AreExplainedIfTheyAreMissing) {
  const TemporaryFolder folder;
  const std::string top = folder.path().string();
  std::filesystem::create_directories(folder.path() / "project");
  std::filesystem::create_directories(folder.path() / "tree");
  folder.write("project/model.pt", "a model");
  folder.write("tree/pointer.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  folder.write("tree/there.pt", "version 1");
  const auto explained = [&](const std::string& name) {
    return explain_missing_file(variant_with("load('" + top + "/tree/" + name + "')")).value_or("");
  };
  EXPECT_EQ(explained("model.pt"), "");
  Forked child([&] {
    ::setenv(kProjectVariable, (top + "/project").c_str(), 1);
    ::setenv(kTreeVariable, (top + "/tree").c_str(), 1);
    EXPECT_HAS(explained("model.pt"), top + "/project/model.pt is in the checked-out tree");
    EXPECT_TRUE(is_due_to_setup(explained("model.pt")));
    EXPECT_EQ(explained("nowhere.pt"), "");
  });
  EXPECT_EQ(child.begin().end(), 0);
  EXPECT_HAS(explained("pointer.pt"), "is a pointer of Git LFS");
  EXPECT_TRUE(is_due_to_setup("exception\n" + explained("pointer.pt")));
  EXPECT_EQ(explained("there.pt"), "");
  EXPECT_FALSE(is_due_to_setup("exception"));
}

}  // namespace
}  // namespace instr::measured_files_test
