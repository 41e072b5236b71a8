// Uses small scripts that answer --version as compilers do.
#include "core/compile/toolchain.h"

#include <algorithm>
#include <cstdlib>

#include "core/compile/cache.h"
#include "tests/testing.h"

namespace instr::toolchain_test {
namespace {

using namespace testing;

constexpr const char* kGcc12 = "g++ (Debian 12.2.0-14+deb12u1) 12.2.0";
constexpr const char* kClang14 = "Debian clang version 14.0.6";
constexpr const char* kClang18 = "Ubuntu clang version 18.1.3 (1ubuntu1)";

class ToolchainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    torch_.version = "2.13.0";
    torch_.include_dirs = {"/t/include"};
    torch_.library_dir = "/t/lib";
    torch_.libraries = {"torch", "c10"};
    torch_.defines = {"_GLIBCXX_USE_CXX11_ABI=1"};
  }

  void put(const std::string& name, const std::string& version, int status = 0) {
    fs::path file = folder_.path() / name;
    ASSERT_TRUE(write_text(file, "#!/bin/sh\necho '" + version + "'\necho more\nexit " +
                                     std::to_string(status) + "\n"));
    fs::permissions(file, fs::perms::owner_all);
  }

  Expected<Toolchain> find(const std::optional<std::string>& requested = std::nullopt) {
    return find_toolchain(requested, torch_);
  }

  std::string standard(const std::string& version) {
    torch_.version = version;
    return find()->flags[0];
  }

  TemporaryFolder folder_;
  ScopedVariable path_{"PATH", folder_.path()};
  LibTorch torch_;
};

TEST_F(ToolchainTest, PrefersClang) {
  put("g++", kGcc12);
  EXPECT_FALSE(find()->is_clang);
  EXPECT_EQ(find()->version, kGcc12);
  put("clang++-14", kClang14);
  EXPECT_TRUE(find()->is_clang);
  put("clang++-18", kClang18);
  EXPECT_EQ(find()->version, kClang18);
  put("clang++", kClang14);
  EXPECT_EQ(find()->compiler, folder_.path() / "clang++");
}

TEST_F(ToolchainTest, SkipsCompilersThatAreTooOldOrBroken) {
  put("clang++", "clang version 11.0.1-2");
  put("clang++-15", "clang version 15.0.7", 1);
  put("g++", kGcc12);
  EXPECT_EQ(find()->version, kGcc12);
}

TEST_F(ToolchainTest, UsesOnlyTheRequestedCompiler) {
  put("clang++", kClang14);
  put("my-g++", kGcc12);
  EXPECT_EQ(find("my-g++")->compiler, folder_.path() / "my-g++");
  EXPECT_EQ(find((folder_.path() / "my-g++").string())->version, kGcc12);
  EXPECT_HAS(error_text(find("none")), "'none' was not found");
  put("old", "g++ (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)");
  EXPECT_HAS(error_text(find("old")), "too old");
  put("cat", "Here is a cat");
  EXPECT_FALSE(find("cat"));
}

TEST_F(ToolchainTest, AdvisesWhatToInstall) {
  auto none = value_of(find());
  EXPECT_FALSE(value_of(has_compiler()));
  const auto checked = check_compiler(none);
  ASSERT_FALSE(checked);
  EXPECT_HAS(checked.error().advice, "apt-get install");
  put("g++", kGcc12);
  EXPECT_TRUE(value_of(has_compiler()));
  EXPECT_TRUE(check_compiler(*find()));
}

TEST_F(ToolchainTest, OldClangCompilesOldHeadersAsCpp17) {
  put("g++", kGcc12);
  EXPECT_EQ(standard("1.13.0"), "-std=c++20");
  put("clang++", kClang14);
  EXPECT_EQ(standard("1.13.0"), "-std=c++17");
  EXPECT_EQ(standard("2.9.1"), "-std=c++17");
  EXPECT_EQ(standard("2.13.0"), "-std=c++20");
  EXPECT_EQ(standard("3.0.0"), "-std=c++20");
  put("clang++", kClang18);
  EXPECT_EQ(standard("1.13.0"), "-std=c++20");
}

TEST_F(ToolchainTest, KnowsLibTorchsFlags) {
  put("clang++", kClang14);
  auto toolchain = *find();
  auto has = [](const std::vector<std::string>& flags, const std::string& flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  EXPECT_TRUE(has(toolchain.flags, "-D_GLIBCXX_USE_CXX11_ABI=1"));
  EXPECT_TRUE(has(toolchain.flags, "/t/include"));
  EXPECT_TRUE(has(toolchain.flags, "-fPIC"));
  EXPECT_FALSE(has(toolchain.flags, "-g"));
  EXPECT_EQ(toolchain.link_flags,
            (std::vector<std::string>{"-L/t/lib", "-ltorch", "-lc10", "-Wl,-rpath-link,/t/lib",
                                      "-Wl,-rpath,/proc/self/cwd/libtorch"}));
}

}  // namespace
}  // namespace instr::toolchain_test
