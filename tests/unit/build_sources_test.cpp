// The [build] table's sources, and the folder by which they are known.
#include "tests/testing.h"

namespace instr::build_sources_test {
namespace {

using namespace testing;

std::vector<std::string> texts(const std::vector<fs::path>& paths) {
  return {paths.begin(), paths.end()};
}

TEST(BuildSources, AreFoundByWildcards) {
  TemporaryFolder folder;
  for (const char* name :
       {"ops/b.cpp", "ops/a.cpp", "ops/deep/er/c.cpp", "ops/a.cc", "ops/.d.cpp"}) {
    folder.write(name, "");
  }
  const auto sources_of = [&](const std::string& list) {
    return folder.write("defs/f.toml", "schema = 1\n[build]\nsources = [" + list +
                                           "]\n[[benchmark]]\nlabel = \"x\"\nstmt = \"x;\"\n");
  };
  const std::string ops = folder.path().string() + "/ops/";
  const auto build =
      value_of(load_definitions({sources_of("'../ops/b.cpp', '../ops/**/*.cpp'")})).at(0).build;
  EXPECT_EQ(texts(build->sources),
            (std::vector<std::string>{ops + "b.cpp", ops + "a.cpp", ops + "deep/er/c.cpp"}));
  EXPECT_EQ(build->root, folder.path() / "defs");
  folder.write(".git/HEAD", "");
  const auto some = value_of(load_definitions({sources_of("'../o*s/*.c*'")})).at(0).build;
  EXPECT_EQ(texts(some->sources),
            (std::vector<std::string>{ops + "a.cc", ops + "a.cpp", ops + "b.cpp"}));
  EXPECT_EQ(some->root, folder.path());
  const auto none = load_definitions({sources_of("'../ops/*.cu'")});
  ASSERT_FALSE(none);
  EXPECT_EQ(error_lines(none.error(), folder.path()),
            "defs/f.toml:3:13: no file matches `ops/*.cu`: paths in [build] are relative to the "
            "folder of this file\n");
}

}  // namespace
}  // namespace instr::build_sources_test
