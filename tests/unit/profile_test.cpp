#include "core/profile/profile.h"

#include <cctype>
#include <iterator>

#include "tests/testing.h"

namespace instr::profile_test {
namespace {

using namespace testing;

std::uint64_t sum_of_self(const Profile& profile, std::size_t event) {
  std::uint64_t sum = 0;
  for (const auto& function : profile.functions) sum += function.self[event];
  return sum;
}

std::map<std::string, std::uint64_t> self_by_function(const Profile& profile) {
  std::map<std::string, std::uint64_t> result;
  for (const auto& function : profile.functions) {
    if (function.self[0] != 0) result[function.function] += function.self[0];
  }
  return result;
}

// Parses "1,234 5 .  file:function [object]" to the function and its first number.
std::optional<std::pair<std::string, std::uint64_t>> annotated_row(const std::string& line) {
  auto begin = line.find_first_not_of(' ');
  if (begin == std::string::npos || !std::isdigit(static_cast<unsigned char>(line[begin])))
    return {};
  auto end = line.find(' ', begin);
  std::string digits = line.substr(begin, end - begin);
  std::erase(digits, ',');
  auto colon = line.find(':', end);
  if (end == std::string::npos || colon == std::string::npos) return {};
  auto function = line.substr(colon + 1);
  if (auto object = function.rfind(" ["); object != std::string::npos) function.resize(object);
  return std::pair{function, std::stoull(digits)};
}

// The first column of callgrind_annotate's table, summed by function name.
std::map<std::string, std::uint64_t> annotated_self(const std::string& path) {
  std::map<std::string, std::uint64_t> result;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.find("file:function") != std::string::npos) in_table = true;
    auto row = annotated_row(line);
    if (!in_table || !row) continue;
    const auto& [function, cost] = *row;
    // See the fixtures' README: callgrind_annotate is wrong about those.
    bool outside_main = function.starts_with("(below main)") || function.starts_with("0x") ||
                        function.starts_with("__libc_start_main");
    if (!outside_main) result[function] += cost;
  }
  return result;
}

std::map<std::string, std::uint64_t> calls_by_function(const Profile& profile) {
  std::map<std::string, std::uint64_t> result;
  for (const auto& function : profile.functions) {
    if (function.calls != 0) result[function.function] += function.calls;
  }
  return result;
}

// The calls of each function, by the callers that callgrind_annotate --tree=caller lists
// above it: "586  < file:caller (91x) [object]", ..., "460  *  file:function [object]".
std::map<std::string, std::uint64_t> annotated_calls(const std::string& path) {
  std::map<std::string, std::uint64_t> result;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::uint64_t calls = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("  < ") != std::string::npos) {
      auto begin = line.rfind(" (", line.rfind("x)"));
      calls += std::stoull(line.substr(begin + 2));
    } else if (auto mark = line.find("  *  "); mark != std::string::npos) {
      auto function = line.substr(line.find(':', mark) + 1);
      if (auto object = function.rfind(" ["); object != std::string::npos) function.resize(object);
      if (calls != 0) result[function] += std::exchange(calls, 0);
    }
  }
  return result;
}

Profile recorded(const std::string& name) {
  return value_of(read_profile(fixture("profile/" + name + ".callgrind.out")));
}

class RealProfiles : public ::testing::TestWithParam<const char*> {};

TEST_P(RealProfiles, SelfCostsAddUpToTotals) {
  const Profile profile = recorded(GetParam());
  ASSERT_FALSE(profile.events.empty());
  EXPECT_EQ(profile.events[0], "Ir");
  for (std::size_t event = 0; event < profile.events.size(); ++event) {
    EXPECT_EQ(sum_of_self(profile, event), profile.totals[event]) << profile.events[event];
  }
}

INSTANTIATE_TEST_SUITE_P(All, RealProfiles,
                         ::testing::Values("part", "combined", "verbose", "instr", "cache",
                                           "callers"));

TEST(Profile, AgreesWithCallgrindAnnotate) {
  for (const std::string name : {"combined", "callers"}) {
    const Profile profile = recorded(name);
    EXPECT_EQ(self_by_function(profile),
              annotated_self(fixture("profile/" + name + ".annotated.txt")));
    EXPECT_EQ(calls_by_function(profile),
              annotated_calls(fixture("profile/" + name + ".tree.txt")));
    EXPECT_GE(calls_by_function(profile).size(), 7U) << name;
  }
}

TEST(Profile, IsTheSameInEachFormThatCallgrindWrites) {
  const Profile part = recorded("part");
  for (const std::string name : {"verbose", "instr", "cache"}) {
    EXPECT_EQ(self_by_function(recorded(name)), self_by_function(part)) << name;
    EXPECT_EQ(calls_by_function(recorded(name)), calls_by_function(part)) << name;
  }
}

TEST(Profile, PartsAreAddedUp) {
  EXPECT_EQ(recorded("combined").parts, 2);
  EXPECT_EQ(recorded("combined").totals, (std::vector<std::uint64_t>{365 + 2703}));
  EXPECT_EQ(recorded("part").parts, 1);
  EXPECT_EQ(recorded("part").totals, (std::vector<std::uint64_t>{365}));
}

TEST(Profile, CallsAreAsCountedByHand) {
  auto calls = calls_by_function(recorded("part"));
  EXPECT_EQ(calls["main"], 1U);
  EXPECT_EQ(calls["work"], 1U);
  EXPECT_EQ(calls["helper"], 1U);
  EXPECT_EQ(calls["fib"], 5U);     // for 0 to 4
  EXPECT_EQ(calls["fib'2"], 14U);  // below those: 0 + 0 + 2 + 4 + 8
}

TEST(Profile, AnInlinedFilesCostStaysWithItsFunctionAndObject) {
  const Profile profile = recorded("part");
  for (const auto& function : profile.functions) {
    if (function.function != "work") continue;
    EXPECT_EQ(function.self[0], 40U + 14U);  // sum.h and main.c
    EXPECT_TRUE(function.object.ends_with("/example")) << function.object;
    return;
  }
  FAIL() << "no function work";
}

TEST(Profile, ANameInTwoObjectsIsTwoFunctions) {
  auto profile = value_of(parse_profile(
      "events: Ir\nob=(1) a.so\nfn=(1) f\n1 5\nob=(2) b.so\nfn=(1)\n1 7\nob=(1)\nfn=(1)\n1 1\n"
      "totals: 13\n",
      "x"));
  ASSERT_EQ(profile.functions.size(), 2U);
  EXPECT_EQ(profile.functions[0].object, "a.so");
  EXPECT_EQ(profile.functions[0].self[0], 6U);
  EXPECT_EQ(profile.functions[1].self[0], 7U);
}

TEST(Profile, InclusiveCostsOfCallsAreNotSelf) {
  auto profile = value_of(parse_profile(
      "events: Ir\nfn=f\n1 5\ncob=z.so\ncfi=z.c\ncfn=g\ncalls=0 9\n1 1000\ncfn=g\ncalls=2 +1\n* "
      "500\n+1 2\n"
      "totals: 7\n",
      "x"));
  EXPECT_EQ(self_by_function(profile), (std::map<std::string, std::uint64_t>{{"f", 7}}));
  EXPECT_EQ(calls_by_function(profile), (std::map<std::string, std::uint64_t>{{"g", 2}}));
  EXPECT_EQ(profile.functions[0].object, "???");
  EXPECT_EQ(profile.functions[1].object, "z.so");
}

TEST(Profile, CallsOfAPairAreSummed) {
  auto profile = value_of(parse_profile(
      "events: Ir Dr\nfn=(1) f\n1 5\ncfn=(2) g\ncalls=2 1\n1 30 4\n+1 3\ncfn=(2)\ncalls=1 1\n"
      "* 10\nfn=(2)\n1 40 4\ncfn=(1)\ncalls=1 1\n1 9\ntotals: 48 4\n",
      "x"));
  ASSERT_EQ(profile.calls.size(), 2U);
  const ProfileCalls& calls = profile.calls[0];
  EXPECT_EQ(profile.functions[calls.caller].function, "f");
  EXPECT_EQ(profile.functions[calls.callee].function, "g");
  EXPECT_EQ(calls.count, 3U);
  EXPECT_EQ(calls.cost, (std::vector<std::uint64_t>{40, 4}));
  EXPECT_EQ(profile.functions[profile.calls[1].callee].function, "f");
}

TEST(Profile, ACalleeIsInItsCallersObjectByDefault) {
  auto profile = value_of(parse_profile(
      "events: Ir\nob=a.so\nfn=f\n1 5\ncob=z.so\ncfn=g\ncalls=3 9\n1 30\ncfn=g\ncalls=4 9\n1 40\n"
      "fn=g\n1 40\ncfn=g\ncalls=1 9\n1 9\nob=z.so\nfn=g\n1 30\ntotals: 75\n",
      "x"));
  ASSERT_EQ(profile.functions.size(), 3U);
  EXPECT_EQ(profile.functions[1].object, "z.so");
  EXPECT_EQ(profile.functions[1].calls, 3U);
  EXPECT_EQ(profile.functions[1].self[0], 30U);
  EXPECT_EQ(profile.functions[2].object, "a.so");
  EXPECT_EQ(profile.functions[2].calls, 5U);
  EXPECT_EQ(profile.functions[2].self[0], 40U);
}

TEST(Profile, MissingCostsAreZeroAndHexadecimalIsRead) {
  auto profile =
      value_of(parse_profile("events: Ir Dr\nfn=f\n1 0x10\n2 1 2\n3\ntotals: 17 2\n", "x"));
  EXPECT_EQ(profile.functions[0].self, (std::vector<std::uint64_t>{17, 2}));
}

TEST(Profile, ForeignTextIsAnErrorWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no events"},
      {"hello", "unknown text"},
      {"events: Ir\n1 2\ntotals: 2\n", "before a function"},
      {"events: Ir\nfn=(7)\n1 2\ntotals: 2\n", "never given a name"},
      {"events: Ir\nfn=f\n1 2 3\ntotals: 2\n", "more costs than events"},
      {"events: Ir\nfn=f\n1 99999999999999999999999\n", "a bad cost"},
      {"events: Ir\nfn=f\n1 -5\n", "a bad cost"},
      {"events: Ir\nfn=f\n1 5\ncalls=1 1\n1 1\n", "calls of no function"},
      {"events: Ir\nfn=f\n1 5\ncfn=g\ncalls=x 1\n1 1\n", "a bad number of calls"},
      {"cfn=g\ncalls=1 1\n1 1\n", "calls before events"},
      {"events: Ir\nfn=f\n1 5\n", "ends in the middle"},
      {"events: Ir\nfn=f\n1 5\ntotals: 5\npart: 2\nevents: Ir\nfn=f\n1 5\n", "ends in the middle"},
      {"events: Ir\ntotals: 5\nevents: Dr\ntotals: 5\n", "different events"},
  };
  for (const auto& [text, expected] : cases) {
    auto profile = parse_profile(text, "file.out");
    ASSERT_FALSE(profile) << text;
    EXPECT_HAS(profile.error().what, expected);
    EXPECT_EQ(profile.error().where.file, "file.out");
  }
  EXPECT_FALSE(parse_profile(std::string("\x7f"
                                         "ELF\0\0\1\2",
                                         8),
                             "x"));
  EXPECT_FALSE(read_profile("/no/such/file"));
  EXPECT_FALSE(read_profile("/"));
}

}  // namespace
}  // namespace instr::profile_test
