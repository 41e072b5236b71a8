#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "core/measure/warm.h"
#include "tests/testing.h"

namespace instr::warm_address_test {
namespace {

using namespace testing;

WarmPurpose some_purpose() {
  WarmPurpose purpose{.language = Language::kPython};
  purpose.options.program = {
      "/a folder/worker.so", {"python", "-c", "x = 1"}, {"A=b", "C="}, "/a folder"};
  purpose.options.valgrind = "valgrind\t=%";
  purpose.options.simulation = {true, false};
  return purpose;
}

TEST(WarmAddress, AWordContainsThePurpose) {
  const WarmPurpose written = some_purpose();
  const auto read = value_of(parse_purpose(encode(written)));
  EXPECT_EQ(read.language, written.language);
  EXPECT_EQ(read.options.program.file, written.options.program.file);
  EXPECT_EQ(read.options.program.command, written.options.program.command);
  EXPECT_EQ(read.options.program.environment, written.options.program.environment);
  EXPECT_EQ(read.options.program.working_directory, written.options.program.working_directory);
  EXPECT_EQ(read.options.valgrind, written.options.valgrind);
  EXPECT_EQ(read.options.simulation, written.options.simulation);
  EXPECT_EQ(encode(read), encode(written));
}

TEST(WarmAddress, AMalformedWordIsRefused) {
  for (const char* word : {"", "cold\tlanguage=py", "warm", "warm\tlanguage=cobol", "warm\tx"}) {
    EXPECT_FALSE(parse_purpose(word)) << word;
  }
}

TEST(WarmAddress, IsAnotherForEachOption) {
  std::vector<std::string> all{warm_address(encode(some_purpose()))};
  const auto add = [&all](auto change) {
    WarmPurpose purpose = some_purpose();
    change(purpose);
    all.push_back(warm_address(encode(purpose)));
  };
  add([](auto& purpose) { purpose.options.program.file = "/other"; });
  add([](auto& purpose) { purpose.options.program.environment.push_back("D=e"); });
  add([](auto& purpose) { purpose.options.valgrind = "/other"; });
  add([](auto& purpose) { purpose.language = Language::kCpp; });
  add([](auto& purpose) { purpose.options.simulation.branch = true; });
  EXPECT_EQ(warm_address(encode(some_purpose())), all[0]);
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
