#include "core/measure/warm_address.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tests/testing.h"

namespace instr::warm_address_test {
namespace {

using namespace testing;

WorkerOptions some() {
  WorkerOptions options;
  options.worker = "/a folder/worker.so";
  options.valgrind = "valgrind\t=%";
  options.language = Language::kPython;
  options.simulation = {true, false};
  return options;
}

TEST(WarmAddress, AWordKeepsWhatAWorkerIsStartedFor) {
  const auto read = value_of(options_of(word_of(some())));
  EXPECT_EQ(read.worker, some().worker);
  EXPECT_EQ(read.valgrind, some().valgrind);
  EXPECT_EQ(read.language, some().language);
  EXPECT_EQ(read.simulation, some().simulation);
  EXPECT_EQ(word_of(read), word_of(some()));
}

TEST(WarmAddress, AMalformedWordIsRefused) {
  for (const char* word : {"", "cold\tlanguage=py", "warm", "warm\tlanguage=cobol", "warm\tx"}) {
    EXPECT_FALSE(options_of(word)) << word;
  }
}

TEST(WarmAddress, IsAnotherForEachOption) {
  std::vector<std::string> all{warm_address(word_of(some()))};
  const auto add = [&all](auto change) {
    WorkerOptions options = some();
    change(options);
    all.push_back(warm_address(word_of(options)));
  };
  add([](auto& options) { options.worker = "/other"; });
  add([](auto& options) { options.valgrind = "/other"; });
  add([](auto& options) { options.language = Language::kCpp; });
  add([](auto& options) { options.simulation.branch = true; });
  EXPECT_EQ(warm_address(word_of(some())), all[0]);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
}

TEST(WarmAddress, IsFoundWhileSomethingListensThere) {
  const std::string address = warm_address("test " + std::to_string(getpid()));
  EXPECT_FALSE(connect_to(address));
  {
    const auto listening = listen_at(address);
    ASSERT_TRUE(listening) << to_string(listening.error());
    EXPECT_FALSE(listen_at(address));
    EXPECT_TRUE(connect_to(address));
    const auto all = warm_addresses();
    EXPECT_EQ(std::count(all.begin(), all.end(), address), 1);
  }
  EXPECT_FALSE(connect_to(address));
  const auto all = warm_addresses();
  EXPECT_EQ(std::count(all.begin(), all.end(), address), 0);
}

}  // namespace
}  // namespace instr::warm_address_test
