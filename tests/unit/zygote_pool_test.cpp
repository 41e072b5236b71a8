// With a script in Valgrind's place that says hello and then listens.
#include "core/measure/zygote_pool.h"

#include <gtest/gtest.h>

#include "core/base/private_folder.h"
#include "core/compile/cache_files.h"
#include "worker/abi.h"

namespace instr {
namespace {

namespace fs = std::filesystem;

class ZygotePoolTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::path script = folder_->path() / "valgrind";
    ASSERT_TRUE(write_text(script, "#!/bin/sh\nprintf 'hello\\tabi=" +
                                       std::to_string(INSTR_ABI_VERSION) + "\\n' >&3\ncat <&3\n"));
    fs::permissions(script, fs::perms::owner_all);
    ZygoteOptions options;
    options.valgrind = script;
    options.worker = folder_->path() / "worker";
    options.work_dir = folder_->path();
    pool_.emplace(
        options, [] { return Expected<fs::path>(fail("no Python")); }, [] {});
  }

  Expected<PrivateFolder> folder_ = PrivateFolder::make();
  std::optional<ZygotePool> pool_;
};

TEST_F(ZygotePoolTest, AfterItsEndThereIsAnErrorAndNoZygote) {
  pool_->need(WarmUp::kEager);
  auto hello = pool_->hello({});
  ASSERT_TRUE(hello) << to_string(hello.error());
  auto zygote = pool_->get(WarmUp::kEager);
  ASSERT_TRUE(zygote);
  pool_->kill();
  pool_->lost(WarmUp::kEager, *zygote);
  auto after = pool_->get(WarmUp::kEager);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().what, "interrupted");
  EXPECT_EQ(pool_->state(WarmUp::kEager), ZygotePool::State::kFailed);
  pool_->need(WarmUp::kTorchScript);
  EXPECT_FALSE(pool_->get(WarmUp::kTorchScript));
  EXPECT_EQ(pool_->state(WarmUp::kTorchScript), ZygotePool::State::kFailed);
}

TEST_F(ZygotePoolTest, ALostOneIsReplaced) {
  pool_->need(WarmUp::kEager);
  ASSERT_TRUE(pool_->hello({}));
  auto first = pool_->get(WarmUp::kEager);
  ASSERT_TRUE(first);
  pool_->lost(WarmUp::kEager, *first);
  while (pool_->state(WarmUp::kEager) == ZygotePool::State::kStarting) std::this_thread::yield();
  auto second = pool_->get(WarmUp::kEager);
  ASSERT_TRUE(second);
  EXPECT_NE(*second, *first);
}

}  // namespace
}  // namespace instr
