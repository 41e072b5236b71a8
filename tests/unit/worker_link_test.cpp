#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/measure/warm.h"
#include "core/measure/worker_process.h"
#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::worker_link_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "LinkTest.*");

using namespace std::chrono_literals;

// A worker's end of the socket.
struct Peer {
  Fd socket;

  std::string read_line(Fd* passed = nullptr) {
    std::string line;
    while (!line.ends_with('\n')) {
      char byte = 0;
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
      iovec piece{&byte, 1};
      msghdr header{};
      header.msg_iov = &piece;
      header.msg_iovlen = 1;
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      if (::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC) <= 0) return line;
      if (cmsghdr* rights = CMSG_FIRSTHDR(&header); rights != nullptr && passed != nullptr) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
        *passed = Fd(fd);
      }
      line += byte;
    }
    return line;
  }

  // A request without its token, which is kept for reply().
  std::string read_request(Fd* passed = nullptr) {
    std::string line = read_line(passed);
    auto message = wire::decode(std::string_view(line).substr(0, line.size() - 1));
    EXPECT_TRUE(message) << line;
    if (!message) return line;
    token = message->get(wire::kToken);
    EXPECT_EQ(token.size(), 16u);
    message->fields.erase(wire::kToken);
    return wire::encode(*message);
  }
  std::string reply(std::string_view fields) {
    return std::string(fields) + "\t" + wire::kToken + "=" + token + "\n";
  }
  std::string token;

  void say(std::string_view text) {
    ASSERT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
};

class LinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto ends = Link::make();
    ASSERT_TRUE(ends);
    link_ = std::make_unique<Link>(std::move(ends->first));
    peer_.socket = std::move(ends->second);
  }

  std::unique_ptr<Link> link_;
  Peer peer_;
};

TEST_F(LinkTest, ARequestGetsItsReply) {
  std::jthread worker([&] {
    EXPECT_EQ(peer_.read_request(), "load\tpath=/a%09b\n");
    peer_.say("loa");
    std::this_thread::sleep_for(5ms);
    peer_.say(peer_.reply("ded\tx=1%0A"));
  });
  auto reply = link_->request({"load", {{"path", "/a\tb"}}}, Link::forever());
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(reply->verb, "loaded");
  EXPECT_EQ(reply->get("x"), "1\n");
}

TEST_F(LinkTest, AMessageWithoutTheRequestsTokenIsNotAReply) {
  std::string first;
  for (const char* forged : {"loaded\n", "loaded\ttoken=\n", "loaded\ttoken=0000000000000000\n"}) {
    SetUp();
    std::jthread worker([&] {
      peer_.read_request();
      EXPECT_NE(peer_.token, first);  // differs each time
      first = peer_.token;
      peer_.say(forged + peer_.reply("loaded"));
    });
    auto reply = link_->request({"load", {}}, Link::forever());
    ASSERT_FALSE(reply) << forged;
    EXPECT_EQ(reply.error(), Loss::kGarbled);
  }
}

TEST_F(LinkTest, TwoMessagesInOnePieceAreTwoMessages) {
  peer_.say("hello\tabi=1\nmore\n");
  auto first = link_->receive(Link::forever());
  auto second = link_->receive(Link::forever());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->verb, "hello");
  EXPECT_EQ(second->verb, "more");
}

TEST_F(LinkTest, BigMessagesPassBothWays) {
  const std::string big(400'000, 'x');
  std::jthread worker([&] {
    EXPECT_EQ(peer_.read_request().size(), big.size() + std::strlen("a\tb=\n"));
    std::string reply = peer_.reply("c\td=" + big);
    std::string_view left = reply;
    while (!left.empty()) {
      auto sent = ::send(peer_.socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
  });
  auto reply = link_->request({"a", {{"b", big}}}, Link::forever());
  ASSERT_TRUE(reply) << to_string(reply.error());
  EXPECT_EQ(reply->get("d"), big);
}

TEST_F(LinkTest, ADescriptorIsSentAlong) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Fd from(ends[0]), to(ends[1]);
  std::jthread worker([&] {
    Fd passed;
    EXPECT_EQ(peer_.read_request(&passed), "fork\n");
    ASSERT_TRUE(passed);
    EXPECT_EQ(::write(passed.get(), "!", 1), 1);
    peer_.say(peer_.reply("forked\tpid=1"));
  });
  ASSERT_TRUE(link_->request({"fork", {}}, Link::forever(), to.get()));
  char byte = 0;
  EXPECT_EQ(::read(from.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '!');
}

TEST_F(LinkTest, SilenceIsATimeout) {
  auto reply = link_->request({"load", {}}, {20ms});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), Loss::kTimedOut);
}

TEST_F(LinkTest, WaitsWhileTheVerdictIsToGoOn) {
  int left = 3;
  auto reply = link_->receive(
      {1ms, [&left] { return --left > 0 ? CpuVerdict::kGoesOn : CpuVerdict::kIdle; }});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), Loss::kIdle);
  EXPECT_EQ(left, 0);
  auto late = link_->receive({1ms, [this] {
                                peer_.say("hello\n");
                                return CpuVerdict::kGoesOn;
                              }});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->verb, "hello");
}

TEST_F(LinkTest, ADeadWorkerIsNoticedWhetherBeforeOrDuringARequest) {
  std::jthread worker([&] {
    peer_.read_line();
    peer_.say("half a mess");
    peer_.socket.reset();
  });
  auto reply = link_->request({"load", {}}, Link::forever());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), Loss::kClosed);
  reply = link_->request({"load", {}}, Link::forever());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), Loss::kClosed);
}

TEST_F(LinkTest, AMalformedMessageIsGarbled) {
  for (const char* line : {"\n", "verb\tno-equals\n", "verb\tx=%zz\n"}) {
    peer_.say(line);
    auto reply = link_->receive(Link::forever());
    ASSERT_FALSE(reply) << line;
    EXPECT_EQ(reply.error(), Loss::kGarbled);
  }
}

TEST_F(LinkTest, HangingUpStillGetsTheReply) {
  std::jthread worker([&] {
    EXPECT_EQ(peer_.read_request(), "measure\n");
    char byte = 0;
    EXPECT_EQ(::recv(peer_.socket.get(), &byte, 1, 0), 0);  // the end of the stream
    peer_.say(peer_.reply("measured"));
  });
  std::jthread caller([&] {
    auto reply = link_->request({"measure", {}}, Link::forever());
    ASSERT_TRUE(reply) << to_string(reply.error());
    EXPECT_EQ(reply->verb, "measured");
  });
  std::this_thread::sleep_for(20ms);
  link_->hang_up();
}

TEST_F(LinkTest, AbortEndsAWaitingRequest) {
  std::jthread caller([&] {
    auto reply = link_->request({"measure", {}}, Link::forever());
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error(), Loss::kClosed);
  });
  EXPECT_EQ(peer_.read_request(), "measure\n");
  link_->abort();
}

TEST(TimeoutOf, NeverOverflowsWhenAdded) {
  EXPECT_EQ(timeout_of(1.5), 1500ms);
  EXPECT_EQ(timeout_of(0), 1ms);
  EXPECT_EQ(timeout_of(-1e300), 1ms);
  for (double much : {1e12, 1e300}) {
    EXPECT_EQ(timeout_of(much), 1'000'000'000s);
    EXPECT_GT(std::chrono::steady_clock::now() + timeout_of(much) * 3 / 2,
              std::chrono::steady_clock::now());
  }
}

// --- Addresses of warm workers ---

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
}  // namespace instr::worker_link_test
