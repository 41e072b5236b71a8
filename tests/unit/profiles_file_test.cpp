#include "core/results/profiles_file.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/golden.h"
#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::profiles_file_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "ProfilesFile.*:ProfilesBeside.*");

using Costs = std::vector<FunctionCost>;

const std::string kHeader = R"({"schema":3,"program":"instr_bench","started":"then"})";
const std::string kStart = "{\"profiles_schema\":1}\n" + kHeader + "\n";
const std::string kNames = R"({"first":0,"names":[["f","a.so"],["g","b.so"]]})"
                           "\n";

Counted with_functions(Costs functions) {
  Counted counted;
  counted.functions = std::move(functions);
  return counted;
}

// The snippet, which calls f, which calls itself and code without symbols; and code without
// symbols.
CallTree example_tree() {
  CallTree tree{
      10,
      {{kSnippetName, "unit", true},
       {"f(int)", "liba.so", true},
       code_name("0x1234", "libb.so"),
       code_name("0x1234", "???")},
      {{0, 0, -5, 0, 0}, {1, 0, 100, 0, 10}, {1, 1, 20, 0, 20}, {2, 2, 7, 0, 1}, {3, 0, 3, 0, 0}},
      {"", "a.h:14"}};
  sum_up(tree.nodes);
  return tree;
}

LineCosts example_lines() {
  return {10, {{"a b.cpp", 3, 120, 200, "f(\"x\");"}, {"a b.cpp", 7, 5, std::nullopt, ""}}};
}

// Functions, a call tree and lines.
Counted example() {
  Counted counted = with_functions({{"f(int)", "liba.so", 12, 3}, {"g", "b.so", 0.5, 1}});
  counted.call_tree = std::make_shared<const CallTree>(example_tree());
  counted.lines = std::make_shared<const LineCosts>(example_lines());
  return counted;
}

// Expects that a tree and lines that were read are written again as those of example().
void expect_example(const ProfileReaders& profiles, const std::string& key) {
  Counted read = example();
  read.call_tree = value_of(profiles.call_trees(key));
  read.lines = value_of(profiles.lines(key));
  EXPECT_EQ(ProfilesFormatter().next("k", read), ProfilesFormatter().next("k", example()));
  ASSERT_TRUE(read.call_tree);
  EXPECT_EQ(read.call_tree->nodes[0].total, example_tree().nodes[0].total);
}

class ProfilesFile : public ::testing::Test {
 protected:
  // Reads a profiles file of these bytes.
  Expected<ProfileReaders> parsed(const std::string& bytes,
                                  Incomplete incomplete = Incomplete::kAllowed) const {
    write(profiles_path(file_), bytes);
    Results results;
    results.header_line = kHeader;
    return read_profiles(file_, results, incomplete);
  }

  // Removes the file's name and the advice.
  std::string shown(const Error& error) const {
    EXPECT_EQ(error.where.file, profiles_path(file_));
    EXPECT_FALSE(error.advice.empty());
    return std::to_string(error.where.line) + ": " + error.what;
  }

  // Returns the error for a file of these texts, each a gzip member.
  std::string error_of(const std::vector<std::string>& texts) const {
    auto profiles = parsed(packed(texts));
    return profiles ? "no error" : shown(profiles.error());
  }

  // Returns the error of reading all values of "k" from its `line`.
  std::string error_of_asking(const std::string& line) const {
    auto profiles = parsed(packed({kStart, kNames + line + "\n"}));
    if (!profiles) return "not parsed: " + shown(profiles.error());
    if (auto functions = profiles->functions("k"); !functions) return shown(functions.error());
    if (auto tree = profiles->call_trees("k"); !tree) return shown(tree.error());
    if (auto lines = profiles->lines("k"); !lines) return shown(lines.error());
    auto events = profiles->device_events("k");
    return events ? "no error" : shown(events.error());
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "r.jsonl";
};

TEST_F(ProfilesFile, HasTheDocumentedForm) {
  ProfilesFormatter formatter;
  EXPECT_EQ(ProfilesFormatter::start(kHeader), kStart);
  EXPECT_EQ(
      formatter.next("a", with_functions({{"f", "a.so", 1200.5, 2}, {"g", "b.so", 40, 0.25}})),
      kNames + "{\"key\":\"a\",\"functions\":[[0,1200.5,2],[1,40,0.25]]}\n");
  FunctionCost caller{"f", "a.so", 5, 1};
  caller.callees = {{1, 2, 40.5}};
  EXPECT_EQ(formatter.next("k", with_functions({caller, {"g", "b.so", 40, 2}})),
            "{\"key\":\"k\",\"functions\":[[0,5,1],[1,40,2]],\"calls\":[[0,1,2,40.5]]}\n");
  // A function of another library has another number.
  EXPECT_EQ(formatter.next("c", with_functions({{"g", "a.so", 41, 1}, {"f", "a.so", -3, 0}})),
            "{\"first\":2,\"names\":[[\"g\",\"a.so\"]]}\n"
            "{\"key\":\"c\",\"functions\":[[2,41,1],[0,-3,0]]}\n");
  EXPECT_EQ(formatter.next("none", {}), "");
  EXPECT_EQ(formatter.end(), "{\"end\":{\"measurements\":3}}\n");
  EXPECT_EQ(ProfilesFormatter().next("k", example()),
            "{\"first\":0,\"names\":[[\"f(int)\",\"liba.so\"],[\"g\",\"b.so\"],"
            "[\"the snippet\",\"unit\"],[\"\",\"libb.so\"],[\"\",\"\"],[\"a b.cpp\",\"\"]]}\n"
            "{\"key\":\"k\",\"functions\":[[0,12,3],[1,0.5,1]],"
            "\"call_tree\":{\"iterations\":10,\"function\":[2,0,0,3,4],\"depth\":[0,1,2,3,1],"
            "\"self\":[-5,100,20,7,3],\"calls\":[0,10,20,1,0],\"places\":[[0,\"a.h:14\"]]},"
            "\"lines\":{\"iterations\":10,\"file\":[5,5],\"line\":[3,7],\"self\":[120,5],"
            "\"inclusive\":[200,null],\"text\":[\"f(\\\"x\\\");\",\"\"]}}\n");
}

TEST_F(ProfilesFile, RoundTrip) {
  FunctionCost caller{"f", "b", 1.0 / 3, 0};
  caller.callees = {{0, 2, 40.5}};
  std::vector<std::pair<std::string, Counted>> written{
      {"matmul/mm/n=64", with_functions({{"at::mm(\"x\")", "libtorch_cpu.so", 1200.5, 3}, caller})},
      {"odd \"key\" \\\t\n/größe/矩阵",
       with_functions({{"f\n\x01", "", 9007199254740993.0, 1e-9}})},
      {"a", example()},
      {"last",
       with_functions({{"f", "b", 5, 0}, {"at::mm(\"x\")", "libtorch_cpu.so", -0.5, 1e15}})}};
  written[2].second.functions.clear();
  written[1].second.device_events = {{"launch stream=0 f<\"x\">", "at::_ops::add"}, {"sync", ""}};
  ProfilesFormatter formatter;
  std::vector<std::string> texts{ProfilesFormatter::start(kHeader)};
  for (const auto& [key, counted] : written) texts.push_back(formatter.next(key, counted));
  const ProfileReaders profiles = value_of(parsed(packed(texts)));
  for (int round = 0; round < 2; ++round) {
    for (const auto& [key, counted] : written) {
      EXPECT_EQ(profiles.functions(key).value(), counted.functions) << key;
      EXPECT_EQ(profiles.call_trees(key).value() != nullptr, key == "a") << key;
      EXPECT_EQ(profiles.device_events(key).value(), counted.device_events) << key;
    }
    expect_example(profiles, "a");
  }
  EXPECT_EQ(profiles.functions("another").value(), Costs{});
  EXPECT_EQ(profiles.call_trees("another").value(), nullptr);
  EXPECT_EQ(profiles.lines("another").value(), nullptr);
}

TEST_F(ProfilesFile, HoldsSimulatedEvents) {
  const Costs costs{{"f", "a.so", 1200.5, 2, {{"D1mr", 0.5}, {"Dr", 310}}},
                    {"g", "b.so", 40, 1},
                    {"h", "b.so", 4, 1, {{"Dr", -1.5}}},
                    {"i", "b.so", 3, 1, {{"D1mr", 2}}}};
  std::string text = ProfilesFormatter().next("k", with_functions(costs));
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "{\"key\":\"k\",\"events\":[\"D1mr\",\"Dr\"],\"functions\":[[0,1200.5,2,0.5,310],"
            "[1,40,1],[2,4,1,0,-1.5],[3,3,1,2]]}\n");
  EXPECT_EQ(value_of(parsed(packed({kStart, text}))).functions("k").value(), costs);
}

TEST_F(ProfilesFile, InvalidUtf8IsReplaced) {
  const std::string text =
      ProfilesFormatter().next("k\xff", with_functions({{"f\xff", "\xfe", 1, 1}}));
  const ProfileReaders profiles = value_of(parsed(packed({kStart, text})));
  EXPECT_EQ(profiles.functions("k\uFFFD").value(), (Costs{{"f\uFFFD", "\uFFFD", 1, 1}}));
}

// A kill truncates the file.
TEST_F(ProfilesFile, ATruncatedFileHasTheCompleteMembers) {
  ProfilesFormatter formatter;
  const Costs costs{{"f", "a.so", 1, 1}};
  const std::string start = value_of(gzip_member(kStart));
  const std::string first = start + packed({formatter.next("a", with_functions(costs))});
  const std::string whole =
      first +
      packed({formatter.next("b", with_functions({{"f", "a.so", 2, 1}, {"g", "a.so", 3, 1}})),
              formatter.end()});
  EXPECT_TRUE(parsed(whole, Incomplete::kRefused));
  // The bytes at a member's end that its text does not need: a mark and a checksum.
  constexpr std::size_t kEnd = 12;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (size + kEnd < whole.size()) {
      EXPECT_HAS(error_text(parsed(whole.substr(0, size), Incomplete::kRefused)), "truncated");
    }
    auto profiles = parsed(whole.substr(0, size));
    if (size + kEnd < start.size()) {
      ASSERT_FALSE(profiles) << size;
      EXPECT_EQ(profiles.error().what, "truncated before its first measurement");
    }
    if (size < start.size()) continue;
    ASSERT_TRUE(profiles) << size << to_string(profiles.error());
    auto a = value_of(profiles->functions("a"));
    const bool may_be_whole = size + kEnd >= first.size();
    EXPECT_TRUE(size >= first.size() ? a == costs : a.empty() || may_be_whole) << size;
  }
}

TEST_F(ProfilesFile, AnErrorNamesTheDamagedLine) {
  const std::string key = R"({"key":"k","functions":[[0,1,1]]})"
                          "\n";
  const auto end = [](int count) {
    return "{\"end\":{\"measurements\":" + std::to_string(count) + "}}\n";
  };
  const std::string other = R"({"schema":3,"program":"instr_bench","started":"now"})";
  EXPECT_EQ(error_of({kStart, kNames, key, end(1)}), "no error");
  std::vector<std::vector<std::string>> files{{},
                                              {"hello\n"},
                                              {"{\"functions_schema\":3}\n" + kHeader + "\n"},
                                              {"{\"profiles_schema\":2}\n" + kHeader + "\n"},
                                              {ProfilesFormatter::start(other), kNames},
                                              {kStart, kNames, key, end(2)},
                                              {kStart, "{\"end\":1}\n"},
                                              {kStart, kNames, "{\"key\":\"k\n"},
                                              {kStart, kNames, kNames},
                                              {kStart, "{\"first\":0,\"names\":[[\"f\"]]}\n"},
                                              {kStart, kNames,
                                               R"({"key":"k","functions":[[0]]})"
                                               "\n"}};
  std::string all;
  for (const std::vector<std::string>& texts : files) {
    for (const std::string& text : texts) all += text;
    all += "=> " + error_of(texts) + "\n\n";
  }
  EXPECT_GOLDEN("results/errors_of_a_profiles_file.txt", all);
}

// A number that has no name or node would be read outside of a vector.
TEST_F(ProfilesFile, DamagedValuesAreErrors) {
  std::string good = R"({"key":"k","events":["Dr"],"functions":[[0,2,3],[1,2,3,4]],)"
                     R"("calls":[[0,1,1,2]],"call_tree":{"iterations":10,"function":[2,1],)"
                     R"("depth":[0,1],"self":[20,10],"calls":[0,5],"places":[[1,"a.h:14"]]},)"
                     R"("lines":{"iterations":10,"file":[1],"line":[3],"self":[120],)"
                     R"("inclusive":[null],"text":["f"]},"device_events":[["sync","f"]]})";
  const auto error_with = [&](const std::string& old, const std::string& with) {
    const std::string line = R"({"first":2,"names":[["the snippet","unit"]]})"
                             "\n" +
                             replaced(good, old, with);
    return error_of_asking(line);
  };
  EXPECT_EQ(error_with("[0,1]", "[0,1]"), "no error");
  for (const auto& [old, with] : std::vector<std::pair<const char*, const char*>>{
           {"[[0,2,3]", "[[3,2,3]"},        // a function without a name
           {"[[0,2,3]", "[[-1,2,3]"},       //
           {"[[0,2,3]", "[[0,2]"},          //
           {"[[0,2,3]", "[[0,2,3,4,5]"},    // a value without an event
           {"[\"Dr\"]", "[7]"},             //
           {"[[0,1,1,2]]", "[[0,2,1,2]]"},  // a call of no function
           {"[[0,1,1,2]]", "[[-1,1,1,2]]"},
           {"[[0,1,1,2]]", "[[0,1,1]]"},
           {"\"depth\":[0,1]", "\"depth\":[0,2]"},  // a level is missing
           {"\"depth\":[0,1]", "\"depth\":[0,0]"},  // a second root
           {"\"depth\":[0,1]", "\"depth\":[1,1]"},  // no root
           {"\"depth\":[0,1]", "\"depth\":[]"},
           {"\"self\":[20,10]", "\"self\":[20]"},
           {"\"self\":[20,10]", "\"self\":[0.5,10]"},
           {"\"function\":[2,1]", "\"function\":[2,3]"},  // a node without a name
           {"\"function\":[2,1]", "\"function\":[1,1]"},  // a root that is not the snippet
           {"\"function\":[2,1]", "\"function\":[2]"},
           {"[[1,\"a.h:14\"]]", "[[0,\"a.h:14\"]]"},  // a place of no function of the tree
           {"[[1,\"a.h:14\"]]", "[[1,14]]"},
           {"{\"iterations\":10,\"function\"", "{\"iterations\":0,\"function\""},
           {"{\"iterations\":10,\"file\"", "{\"iterations\":0,\"file\""},
           {"\"line\":[3]", "\"line\":[3,4]"},
           {"\"line\":[3]", "\"line\":[4294967296]"},
           {"\"file\":[1]", "\"file\":[3]"},  // a file without a name
           {"\"text\":[", "\"words\":["},
           {"[[\"sync\",\"f\"]]", "[[\"sync\"]]"}}) {
    EXPECT_EQ(error_with(old, with), "5: this line of the profiles cannot be read") << with;
  }
}

TEST_F(ProfilesFile, SurvivesGarbage) {
  const std::string good = ProfilesFormatter().next("k", example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (char c : {'\0', '"', '9', '[', '\\', '\n'}) {
      std::string changed = good;
      changed[i] = c;
      const auto profiles = parsed(packed({kStart, changed}));
      if (!profiles) continue;
      profiles->functions("k");
      profiles->call_trees("k");
      profiles->lines("k");
    }
  }
  EXPECT_EQ(error_of({kStart, "{\"first\":0,\"names\":" + std::string(100'000, '[') + "\n"}),
            "3: this line of the profiles cannot be read");
}

TEST_F(ProfilesFile, RefusesWhatFillsTheMemory) {
  EXPECT_EQ(error_of({kStart, std::string((std::size_t{128} << 20) + 1, ' ')}),
            "3: the gzip data is unreasonably large");
  std::string names = R"({"first":0,"names":[["",""])";
  for (int i = 1; i < 1'000'000; ++i) names += R"(,["",""])";
  EXPECT_EQ(error_of({kStart, names + "]}\n"}), "no error");
  EXPECT_EQ(error_of({kStart, names + R"(,["",""]]})" + "\n"}),
            "3: this line of the profiles cannot be read");
}

class ProfilesBeside : public ::testing::Test {
 protected:
  // Writes results of two keys with this profile, and returns what can be read.
  Expected<ProfileReaders> write_and_read(const Counted& counted) const {
    write_results(file_, make_results_header({}, {"instr_bench"}),
                  {measured("k", counted), measured("l", counted)});
    return read();
  }

  Expected<ProfileReaders> read() const {
    return read_profiles(file_, value_of(read_results(file_)));
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "r.jsonl";
};

TEST_F(ProfilesBeside, AreThoseThatWereWritten) {
  Counted counted = example();
  const ProfileReaders profiles = value_of(write_and_read(counted));
  for (const char* key : {"l", "k"}) {
    EXPECT_EQ(profiles.functions(key).value(), counted.functions);
    expect_example(profiles, key);
  }
  const fs::path link = folder_.path() / "link.jsonl";
  fs::create_symlink(file_, link);
  const auto linked = value_of(read_profiles(link, value_of(read_results(link))));
  EXPECT_EQ(linked.functions("k").value(), counted.functions);
}

TEST_F(ProfilesBeside, AreRefusedIfTheResultsWereReplaced) {
  value_of(write_and_read(example()));
  EXPECT_EQ(error_text(read_profiles(file_, {})),
            profiles_path(file_).string() +
                ":2: these profiles do not belong to the results beside them: "
                "measure again, or remove the file to go without functions");
}

TEST_F(ProfilesBeside, AreStartedWithTheFirstProfile) {
  for (const bool has_tree : {true, false}) {
    Counted counted;
    if (has_tree) counted.call_tree = example().call_tree;
    const ProfileReaders profiles = value_of(write_and_read(counted));
    // The second time, the old file is removed.
    EXPECT_EQ(fs::exists(profiles_path(file_)), has_tree);
    EXPECT_EQ(value_of(profiles.call_trees("k")) != nullptr, has_tree);
    EXPECT_EQ(profiles.functions("k").value(), Costs{});
  }
  fs::create_directory(profiles_path(file_));
  EXPECT_FALSE(read());
  fs::remove(profiles_path(file_));
  write(profiles_path(file_), "mine");
  // Another program's file is not overwritten.
  EXPECT_FALSE(ResultsTarget::open(file_));
}

TEST_F(ProfilesBeside, ZcatReadsThem) {
  value_of(write_and_read(with_functions({{"f", "a.so", 1, 2}})));
  std::string command = "zcat '" + profiles_path(file_).string() + "'";
  std::FILE* zcat = popen(command.c_str(), "r");
  ASSERT_NE(zcat, nullptr);
  std::string text(10000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), zcat));
  ASSERT_EQ(pclose(zcat), 0);
  EXPECT_EQ(text, "{\"profiles_schema\":1}\n" + value_of(read_results(file_)).header_line +
                      "\n{\"first\":0,\"names\":[[\"f\",\"a.so\"]]}\n"
                      "{\"key\":\"k\",\"functions\":[[0,1,2]]}\n"
                      "{\"key\":\"l\",\"functions\":[[0,1,2]]}\n"
                      "{\"end\":{\"measurements\":2}}\n");
}

}  // namespace
}  // namespace instr::profiles_file_test
